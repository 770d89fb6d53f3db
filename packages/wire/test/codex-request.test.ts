import { WireError } from "@deltawire/wire";
import { assembleChatRequest, chatPath, chatTools } from "@deltawire/wire/codex";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { outcome } from "./outcome.ts";

const said = (role: string, ...texts: string[]) => ({
  type: "message",
  role,
  content: texts.map((text) => ({
    type: role === "assistant" ? "output_text" : "input_text",
    text,
  })),
});
const reasoning = (...texts: string[]) => ({
  type: "reasoning",
  summary: [],
  content: texts.map((text) => ({ type: "reasoning_text", text })),
});
const calling = (call_id: string) => ({
  type: "function_call",
  id: "fc_1",
  name: "f",
  arguments: "{}",
  call_id,
});
const result = (call_id: string, output: unknown = "out") => ({
  type: "function_call_output",
  call_id,
  output,
});
const user = said("user", "u");

const request = (rest: object, input: readonly unknown[] = []) =>
  assembleChatRequest({ model: "m", instructions: "inst", input, ...rest });
/** Without the system message, which always comes first. */
const messages = (...input: unknown[]) => request({}, input).body.messages.slice(1);
const calls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});

describe("the request", () => {
  test("has model, messages, stream and tools, and nothing else; its body is never compressed", () => {
    const tools = [{ type: "function", name: "f", function: { name: "f" } }];
    expect(request({ tools })).toEqual({
      body: {
        model: "m",
        messages: [{ role: "system", content: "inst" }],
        stream: true,
        tools,
      },
      headers: {},
      compression: "none",
    });
  });

  test("begins with a system message, even an empty one", () => {
    expect(request({ instructions: "" }).body.messages).toEqual([{ role: "system", content: "" }]);
  });

  test("is refused with an output_schema, in Codex's words; null is none", () => {
    const refused = () => request({ output_schema: { type: "object" } });
    expect(refused).toThrow(WireError);
    expect(refused).toThrow(/^output_schema is not supported for Chat Completions API$/);
    expect(request({ output_schema: null }).compression).toBe("none");
  });

  test.each([
    [{ conversation_id: "conv-1" }, { session_id: "conv-1" }],
    [{ conversation_id: null, session_source: null }, {}],
    [{ session_source: "cli" }, {}],
    [{ session_source: { subagent: "review" } }, { "x-openai-subagent": "review" }],
    [{ session_source: { subagent: "compact" } }, { "x-openai-subagent": "compact" }],
    [{ session_source: { subagent: "thread_spawn" } }, { "x-openai-subagent": "collab_spawn" }],
    [
      { session_source: { subagent: { thread_spawn: { parent_thread_id: "t", depth: 1 } } } },
      { "x-openai-subagent": "collab_spawn" },
    ],
    [{ session_source: { subagent: { other: "mine" } } }, { "x-openai-subagent": "mine" }],
    // What is no header value is left out.
    [{ conversation_id: "a\nb", session_source: { subagent: { other: "中" } } }, {}],
  ])("of %j has the headers %j", (prompt, headers) => {
    expect(request(prompt).headers).toEqual(headers);
  });

  test.each([
    ["input", "no list"],
    ["input[0]", [7]],
    ["input[0].type", [{}]],
    ["input[0].role", [{ type: "message", content: [] }]],
    ["input[0].content", [{ type: "message", role: "user", content: "text" }]],
    [
      "input[0].content[0].type",
      [{ type: "message", role: "user", content: [{ type: "input_file" }] }],
    ],
    ["input[0].content[0].text", [{ type: "reasoning", content: [{ type: "text" }] }]],
    ["input[0].call_id", [{ ...calling("c"), call_id: null }]],
    ["input[0].output", [result("c", { content: "x" })]],
    ["input[0].action", [{ type: "local_shell_call", status: "completed" }]],
  ])("with a fault at %s says so", (param, input) => {
    expect(() => request({ input })).toThrow(
      expect.objectContaining({ code: "invalid_request", param }),
    );
  });

  test("of whatever JSON comes of it, or a WireError", () => {
    const kind = fc.constantFrom("message", "reasoning", "function_call", "function_call_output");
    const more = fc.constantFrom("local_shell_call", "custom_tool_call", "custom_tool_call_output");
    const item = fc.record(
      {
        type: fc.oneof(kind, more, fc.jsonValue()),
        role: fc.oneof(fc.constantFrom("user", "assistant"), fc.jsonValue()),
        content: fc.oneof(
          fc.array(fc.record({ type: fc.constant("input_text"), text: fc.string() })),
          fc.jsonValue(),
        ),
        call_id: fc.oneof(fc.string(), fc.jsonValue()),
        action: fc.jsonValue(),
        output: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(item), (input) => {
        expect(["done", "refused"]).toContain(outcome(() => JSON.stringify(request({}, input))));
      }),
      runs(300),
    );
  });
});

describe("a message", () => {
  test("is its texts in one string, whichever side they are from", () => {
    const mixed = { ...user, content: [{ type: "output_text", text: "x" }, ...user.content] };
    expect(messages(said("user", "a", "b"), mixed)).toEqual([
      { role: "user", content: "ab" },
      { role: "user", content: "xu" },
    ]);
  });

  test("without content is an empty string; any role passes", () => {
    expect(messages(said("weird"), said("developer", "d"))).toEqual([
      { role: "weird", content: "" },
      { role: "developer", content: "d" },
    ]);
  });

  test("with a picture is a list of parts, unless it is the assistant's: then the picture is lost", () => {
    const picture = { type: "input_image", image_url: "data:x", detail: "high" };
    const parts = [
      { type: "text", text: "t" },
      { type: "image_url", image_url: { url: "data:x" } },
    ];
    const withPicture = (role: string) => ({
      type: "message",
      role,
      content: [{ type: "input_text", text: "t" }, picture],
    });
    expect(messages(withPicture("user"), withPicture("assistant"))).toEqual([
      { role: "user", content: parts },
      { role: "assistant", content: "t" },
    ]);
  });

  test("of the assistant is dropped if the last one kept said the same, however far back", () => {
    const same = said("assistant", "same");
    expect(messages(same, user, said("assistant", "sa", "me"))).toEqual([
      { role: "assistant", content: "same" },
      { role: "user", content: "u" },
    ]);
    expect(messages(same, said("assistant", "x"), same)).toHaveLength(3);
    expect(messages(said("assistant", ""), said("assistant", ""))).toHaveLength(1);
  });

  test("that is dropped takes its reasoning with it and does not split a group of calls", () => {
    expect(
      messages(
        user,
        said("assistant", "a"),
        calling("c1"),
        reasoning("r"),
        said("assistant", "a"),
        calling("c2"),
      ),
    ).toEqual([
      { role: "user", content: "u" },
      { role: "assistant", content: "a" },
      calls("c1", "c2"),
    ]);
  });
});

describe("reasoning", () => {
  test("goes to the assistant's message before it, else to the call or message after it", () => {
    const r = reasoning("r");
    expect(messages(user, said("assistant", "a"), r, said("assistant", "b"))).toEqual([
      { role: "user", content: "u" },
      { role: "assistant", content: "a", reasoning: "r" },
      { role: "assistant", content: "b" },
    ]);
    expect(messages(user, r, calling("c"))).toEqual([
      { role: "user", content: "u" },
      { ...calls("c"), reasoning: "r" },
    ]);
    expect(messages(user, r, said("assistant", "a")).at(-1)).toHaveProperty("reasoning", "r");
  });

  test("without such a neighbour is lost: of two in a row before a call, the first", () => {
    expect(messages(user, reasoning("r1"), reasoning("r2"), calling("c")).at(-1)).toEqual({
      ...calls("c"),
      reasoning: "r2",
    });
    expect(messages(user, reasoning("r"), said("developer", "d")).at(-1)).toEqual({
      role: "developer",
      content: "d",
    });
  });

  test("before the last user's message is not sent, so none if the history ends with the user", () => {
    const early = [user, reasoning("r"), said("assistant", "a")];
    expect(messages(...early, user, said("assistant", "b"))).not.toContainEqual(
      expect.objectContaining({ reasoning: "r" }),
    );
    expect(messages(user, reasoning("r"), said("assistant", "a"), user)[1]).not.toHaveProperty(
      "reasoning",
    );
  });

  test("is not carried by a custom call", () => {
    const custom = { type: "custom_tool_call", id: "i", call_id: "c", name: "n", input: "x" };
    const output = { type: "custom_tool_call_output", call_id: "c", output: "ok" };
    expect(messages(user, reasoning("r"), custom, output)).toEqual([
      { role: "user", content: "u" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "i", type: "custom", custom: { name: "n", input: "x" } }],
      },
      { role: "tool", tool_call_id: "c", content: "ok" },
    ]);
  });

  test("is joined without a separator on a message, with a line end on a group of calls", () => {
    expect(
      messages(user, reasoning("r1"), said("assistant", "a"), reasoning("r2")).at(-1),
    ).toHaveProperty("reasoning", "r1r2");
    expect(
      messages(user, reasoning("r1"), calling("c1"), reasoning("r2"), calling("c2")).at(-1),
    ).toEqual({ ...calls("c1", "c2"), reasoning: "r1\nr2" });
    expect(messages(user, calling("c1"), reasoning("r2"), calling("c2")).at(-1)).toEqual({
      ...calls("c1", "c2"),
      reasoning: "r2",
    });
  });

  test("keeps its blanks, but blanks alone are none; U+0085 is blank and U+FEFF is not", () => {
    const sent = (...texts: string[]) => messages(user, reasoning(...texts), calling("c")).at(-1);
    expect(sent(" ", "x ")).toHaveProperty("reasoning", " x ");
    expect(sent(" \u0085\u3000\n")).not.toHaveProperty("reasoning");
    expect(sent("\uFEFF")).toHaveProperty("reasoning", "\uFEFF");
  });

  test("is its content, never its summary", () => {
    const summary = [{ type: "summary_text", text: "s" }];
    expect(messages(user, { type: "reasoning", summary }, calling("c")).at(-1)).toEqual(calls("c"));
  });
});

describe("a call", () => {
  test("shares a message with the calls next to it; text or a result between them splits", () => {
    expect(messages(user, calling("a"), calling("b"), result("a"), calling("c"))).toEqual([
      { role: "user", content: "u" },
      calls("a", "b"),
      { role: "tool", tool_call_id: "a", content: "out" },
      calls("c"),
    ]);
    expect(messages(said("assistant", "x"), calling("a"))).toEqual([
      { role: "assistant", content: "x" },
      calls("a"),
    ]);
  });

  test("is not split from the next by what is never sent", () => {
    const unsent = ["ghost_snapshot", "web_search_call", "compaction", "other", "of_2031"];
    expect(
      messages(calling("a"), ...unsent.map((type) => ({ type })), reasoning("r"), calling("b")),
    ).toEqual([{ ...calls("a", "b"), reasoning: "r" }]);
  });

  test("to the local shell goes by its own id, empty if it has none; what is absent is null", () => {
    const shell = {
      type: "local_shell_call",
      call_id: "c",
      status: "completed",
      action: { type: "exec", command: ["ls"] },
    };
    const action = {
      ...shell.action,
      timeout_ms: null,
      working_directory: null,
      env: null,
      user: null,
    };
    const sent = (id: string) => ({
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "local_shell_call", status: "completed", action }],
    });
    expect(messages({ ...shell, id: "lsh_1" })).toEqual([sent("lsh_1")]);
    expect(messages(shell)).toEqual([sent("")]);
  });

  test("to a custom tool goes by its own id, null if it has none", () => {
    const custom = { type: "custom_tool_call", call_id: "c", name: "n", input: "x" };
    expect(messages(custom)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: null, type: "custom", custom: { name: "n", input: "x" } }],
      },
    ]);
  });

  test("has a result of text or of parts", () => {
    const parts = [
      { type: "input_text", text: "t" },
      { type: "input_image", image_url: "data:x" },
    ];
    expect(messages(result("c", parts), result("c", []))).toEqual([
      {
        role: "tool",
        tool_call_id: "c",
        content: [
          { type: "text", text: "t" },
          { type: "image_url", image_url: { url: "data:x" } },
        ],
      },
      { role: "tool", tool_call_id: "c", content: [] },
    ]);
  });
});

test("only functions are declared, and with their name twice", () => {
  const parameters = { type: "object" };
  expect(
    chatTools([
      { type: "function", name: "f", strict: false, parameters },
      { type: "custom", name: "apply_patch" },
      { type: "web_search" },
      { type: "function" },
      null,
    ]),
  ).toEqual([
    { type: "function", name: "f", function: { name: "f", strict: false, parameters } },
    { type: "function", name: "", function: {} },
  ]);
});

test("the path is the Chat wire's for the Chat wire only", () => {
  expect(["chat", "responses", "compact"].map(chatPath)).toEqual([
    "chat/completions",
    "responses",
    "responses",
  ]);
});
