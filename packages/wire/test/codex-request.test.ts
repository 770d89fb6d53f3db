import { WireError } from "@deltawire/wire";
import { assembleChatRequest, getRequestPath, toChatTools } from "@deltawire/wire/codex";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { runOutcome } from "./run-outcome.ts";

const textMessage = (role: string, ...texts: string[]) => ({
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
const functionCall = (call_id: string) => ({
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
const user = textMessage("user", "u");

const request = (rest: object, input: readonly unknown[] = []) =>
  assembleChatRequest({ model: "m", instructions: "inst", input, ...rest });
/** Returns the messages of a request without the first one, which is always the system message. */
const messages = (...input: unknown[]) => request({}, input).body.messages.slice(1);
const calls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});

describe("the request of the Codex client", () => {
  test("has only model, messages, stream and tools, and is never compressed", () => {
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

  test("starts with a system message, even if it is empty", () => {
    expect(request({ instructions: "" }).body.messages).toEqual([{ role: "system", content: "" }]);
  });

  test("is rejected with Codex's message if it has an output_schema that is not null", () => {
    const build = () => request({ output_schema: { type: "object" } });
    expect(build).toThrow(WireError);
    expect(build).toThrow(/^output_schema is not supported for Chat Completions API$/);
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
    // A value that is not valid in a header is dropped.
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
    ["input[0].call_id", [{ ...functionCall("c"), call_id: null }]],
    ["input[0].output", [result("c", { content: "x" })]],
    ["input[0].action", [{ type: "local_shell_call", status: "completed" }]],
  ])("with an error at %s is rejected with its path", (param, input) => {
    expect(() => request({ input })).toThrow(
      expect.objectContaining({ code: "invalid_request", param }),
    );
  });

  test("is built from any JSON or rejected with a WireError", () => {
    const kind = fc.constantFrom("message", "reasoning", "function_call", "function_call_output");
    const otherKind = fc.constantFrom(
      "local_shell_call",
      "custom_tool_call",
      "custom_tool_call_output",
    );
    const item = fc.record(
      {
        type: fc.oneof(kind, otherKind, fc.jsonValue()),
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
        expect(["done", "rejected"]).toContain(
          runOutcome(() => JSON.stringify(request({}, input))),
        );
      }),
      propertyRuns(300),
    );
  });
});

describe("a message", () => {
  test("has its text parts joined in one string, for all roles", () => {
    const mixed = { ...user, content: [{ type: "output_text", text: "x" }, ...user.content] };
    expect(messages(textMessage("user", "a", "b"), mixed)).toEqual([
      { role: "user", content: "ab" },
      { role: "user", content: "xu" },
    ]);
  });

  test("without content has an empty string, in every role", () => {
    expect(messages(textMessage("weird"), textMessage("developer", "d"))).toEqual([
      { role: "weird", content: "" },
      { role: "developer", content: "d" },
    ]);
  });

  test("with an image is an array of parts, except for the assistant, whose image is dropped", () => {
    const image = { type: "input_image", image_url: "data:x", detail: "high" };
    const parts = [
      { type: "text", text: "t" },
      { type: "image_url", image_url: { url: "data:x" } },
    ];
    const messageWithImage = (role: string) => ({
      type: "message",
      role,
      content: [{ type: "input_text", text: "t" }, image],
    });
    expect(messages(messageWithImage("user"), messageWithImage("assistant"))).toEqual([
      { role: "user", content: parts },
      { role: "assistant", content: "t" },
    ]);
  });

  test("of the assistant is dropped if it repeats the previous assistant text", () => {
    const repeatedMessage = textMessage("assistant", "same");
    expect(messages(repeatedMessage, user, textMessage("assistant", "sa", "me"))).toEqual([
      { role: "assistant", content: "same" },
      { role: "user", content: "u" },
    ]);
    expect(messages(repeatedMessage, textMessage("assistant", "x"), repeatedMessage)).toHaveLength(
      3,
    );
    expect(messages(textMessage("assistant", ""), textMessage("assistant", ""))).toHaveLength(1);
  });

  test("that is dropped also loses its reasoning and does not split a group of calls", () => {
    expect(
      messages(
        user,
        textMessage("assistant", "a"),
        functionCall("c1"),
        reasoning("r"),
        textMessage("assistant", "a"),
        functionCall("c2"),
      ),
    ).toEqual([
      { role: "user", content: "u" },
      { role: "assistant", content: "a" },
      calls("c1", "c2"),
    ]);
  });
});

describe("reasoning", () => {
  test("is attached to the assistant message before it, or else to the call or message after it", () => {
    const reasoningItem = reasoning("r");
    expect(
      messages(user, textMessage("assistant", "a"), reasoningItem, textMessage("assistant", "b")),
    ).toEqual([
      { role: "user", content: "u" },
      { role: "assistant", content: "a", reasoning: "r" },
      { role: "assistant", content: "b" },
    ]);
    expect(messages(user, reasoningItem, functionCall("c"))).toEqual([
      { role: "user", content: "u" },
      { ...calls("c"), reasoning: "r" },
    ]);
    expect(messages(user, reasoningItem, textMessage("assistant", "a")).at(-1)).toHaveProperty(
      "reasoning",
      "r",
    );
  });

  test("is dropped without such a message or call, like the first of two reasoning items before a call", () => {
    expect(messages(user, reasoning("r1"), reasoning("r2"), functionCall("c")).at(-1)).toEqual({
      ...calls("c"),
      reasoning: "r2",
    });
    expect(messages(user, reasoning("r"), textMessage("developer", "d")).at(-1)).toEqual({
      role: "developer",
      content: "d",
    });
  });

  test("before the last user message is not sent", () => {
    const earlierTurn = [user, reasoning("r"), textMessage("assistant", "a")];
    expect(messages(...earlierTurn, user, textMessage("assistant", "b"))).not.toContainEqual(
      expect.objectContaining({ reasoning: "r" }),
    );
    expect(
      messages(user, reasoning("r"), textMessage("assistant", "a"), user)[1],
    ).not.toHaveProperty("reasoning");
  });

  test("is not attached to a custom call", () => {
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

  test("is joined without a separator for a message, and with a line break for a group of calls", () => {
    expect(
      messages(user, reasoning("r1"), textMessage("assistant", "a"), reasoning("r2")).at(-1),
    ).toHaveProperty("reasoning", "r1r2");
    expect(
      messages(user, reasoning("r1"), functionCall("c1"), reasoning("r2"), functionCall("c2")).at(
        -1,
      ),
    ).toEqual({ ...calls("c1", "c2"), reasoning: "r1\nr2" });
    expect(messages(user, functionCall("c1"), reasoning("r2"), functionCall("c2")).at(-1)).toEqual({
      ...calls("c1", "c2"),
      reasoning: "r2",
    });
  });

  test("keeps its white space, but is dropped if it is blank; U+0085 is white space, and U+FEFF is not", () => {
    const translateReasoning = (...texts: string[]) =>
      messages(user, reasoning(...texts), functionCall("c")).at(-1);
    expect(translateReasoning(" ", "x ")).toHaveProperty("reasoning", " x ");
    expect(translateReasoning(" \u0085\u3000\n")).not.toHaveProperty("reasoning");
    expect(translateReasoning("\uFEFF")).toHaveProperty("reasoning", "\uFEFF");
  });

  test("consists of its content, not its summary", () => {
    const summary = [{ type: "summary_text", text: "s" }];
    expect(messages(user, { type: "reasoning", summary }, functionCall("c")).at(-1)).toEqual(
      calls("c"),
    );
  });
});

describe("a call", () => {
  test("shares a message with adjacent calls, unless text or a result is between them", () => {
    expect(
      messages(user, functionCall("a"), functionCall("b"), result("a"), functionCall("c")),
    ).toEqual([
      { role: "user", content: "u" },
      calls("a", "b"),
      { role: "tool", tool_call_id: "a", content: "out" },
      calls("c"),
    ]);
    expect(messages(textMessage("assistant", "x"), functionCall("a"))).toEqual([
      { role: "assistant", content: "x" },
      calls("a"),
    ]);
  });

  test("is not split from the next call by items that are not sent", () => {
    const unsent = ["ghost_snapshot", "web_search_call", "compaction", "other", "of_2031"];
    expect(
      messages(
        functionCall("a"),
        ...unsent.map((type) => ({ type })),
        reasoning("r"),
        functionCall("b"),
      ),
    ).toEqual([{ ...calls("a", "b"), reasoning: "r" }]);
  });

  test("of the local shell has its item id or an empty one, and absent fields are null", () => {
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
    const buildExpectedCall = (id: string) => ({
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "local_shell_call", status: "completed", action }],
    });
    expect(messages({ ...shell, id: "lsh_1" })).toEqual([buildExpectedCall("lsh_1")]);
    expect(messages(shell)).toEqual([buildExpectedCall("")]);
  });

  test("of a custom tool has its item id, or null", () => {
    const custom = { type: "custom_tool_call", call_id: "c", name: "n", input: "x" };
    expect(messages(custom)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: null, type: "custom", custom: { name: "n", input: "x" } }],
      },
    ]);
  });

  test("has a result of text or parts", () => {
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

test("only functions are declared, and their name occurs twice", () => {
  const parameters = { type: "object" };
  expect(
    toChatTools([
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

test("the request path is chat/completions only for wire_api chat", () => {
  expect(["chat", "responses", "compact"].map(getRequestPath)).toEqual([
    "chat/completions",
    "responses",
    "responses",
  ]);
});
