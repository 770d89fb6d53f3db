import {
  chatOfChat,
  ChatOverChat,
  collectChat,
  genericProfile,
  mendedChatRequest,
  withFlags,
  type ChatInput,
  type ChatMessage,
  type ChatOutput,
  type ChatRequest,
  type ChatTool,
  type JsonObject,
  type MendedChatRequest,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { call, chunk } from "./chat-stream.ts";
import { newIds } from "./reply-translations.ts";

/* Tools that a Chat upstream gets under other names or as functions, and their calls on the way back. */

const long = `mcp__${"server_".repeat(9)}search`;
const user: ChatMessage = { role: "user", content: "Go." };
const tool = (name: string): ChatTool => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } },
});
const patch: ChatTool = {
  type: "custom",
  custom: {
    name: "patch",
    description: "Patches.",
    format: { type: "grammar", grammar: { syntax: "lark", definition: "start: WORD" } },
  },
};
const functionsOnly = withFlags(genericProfile, { customTools: "function" });

/** What the client hears of a reply to its request. */
function reply(
  { body: _body, ...mended }: MendedChatRequest,
  inputs: readonly ChatInput[],
  options: { toolCalls?: "deltas" | "whole" } = {},
) {
  const machine = new ChatOverChat({ ...mended, newId: newIds(), createdAt: 1, ...options });
  const out: ChatOutput[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end("eof", out);
  expect(chatSequenceFaults(out)).toEqual([]);
  const collected = collectChat(out);
  const message = collected.ok ? collected.completion.choices[0]?.message : undefined;
  const finish = collected.ok ? collected.completion.choices[0]?.finish_reason : undefined;
  return { out, message, finish, repairs: machine.repairs };
}

describe("a name of more than 64 characters", () => {
  const request: ChatRequest = {
    model: "m",
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: long, arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", name: long, content: "ok" },
    ],
    tools: [tool(long), tool("look")],
    tool_choice: { type: "function", function: { name: long } },
  };
  const mended = mendedChatRequest(request);
  const { body, toolNames, toolSchemas, repairs } = mended;
  const [alias = ""] = [...toolNames];

  test("is shortened everywhere, always to the same, and counted", () => {
    expect(alias).toMatch(/^mcp__server_[\w-]{1,53}$/);
    expect(alias.length).toBeLessThanOrEqual(64);
    expect(JSON.stringify(body)).not.toContain(long);
    expect(body.tools).toEqual([tool(alias), tool("look")]);
    expect(body.tool_choice).toEqual({ type: "function", function: { name: alias } });
    expect(body.messages.slice(1)).toMatchObject([
      { tool_calls: [{ function: { name: alias } }] },
      { role: "tool", name: alias },
    ]);
    expect([...toolSchemas.keys()]).toEqual([alias, "look"]);
    expect(repairs.list).toEqual([
      { code: "tool_renamed", choice: 0, detail: `${long} -> ${alias}` },
    ]);
    expect([...mendedChatRequest(request).toolNames]).toEqual([alias, "look"]);
  });

  test("is shortened in a list of allowed tools too", () => {
    const allowed = [tool(long), tool("look")].map(({ type }, nth) => ({
      type,
      function: { name: nth === 0 ? long : "look" },
    }));
    const choice = {
      type: "allowed_tools" as const,
      allowed_tools: { mode: "auto", tools: allowed },
    };
    expect(mendedChatRequest({ ...request, tool_choice: choice }).body.tool_choice).toEqual({
      type: "allowed_tools",
      allowed_tools: {
        mode: "auto",
        tools: [{ type: "function", function: { name: alias } }, allowed[1]],
      },
    });
  });

  test("is the client's own again when the tool is called, in deltas, in one piece and in a whole reply", () => {
    const inputs: ChatInput[] = [
      chunk(call({ index: 0, id: "call_aaa", name: alias, args: '{"q":' })),
      chunk(call({ index: 0, args: "1}" })),
      chunk(call({ index: 1, id: "call_bbb", name: "look", args: "{}" })),
      chunk({}, "tool_calls"),
    ];
    const calls = [
      { id: "call_aaa", type: "function", function: { name: long, arguments: '{"q":1}' } },
      { id: "call_bbb", type: "function", function: { name: "look", arguments: "{}" } },
    ];
    expect(reply(mended, inputs).message?.tool_calls).toEqual(calls);
    expect(reply(mended, inputs, { toolCalls: "whole" }).message?.tool_calls).toEqual(calls);
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_aaa", type: "function", function: { name: alias, arguments: "{}" } },
      ],
    };
    const { body: _body, ...forTheReply } = mended;
    const whole = chatOfChat(
      { id: "c", choices: [{ index: 0, message, finish_reason: "tool_calls" }] },
      { ...forTheReply, newId: newIds(), createdAt: 1 },
    );
    expect(whole).toMatchObject({
      completion: { choices: [{ message: { tool_calls: [{ function: { name: long } }] } }] },
    });
  });
});

describe("a custom tool as a function", () => {
  const request: ChatRequest = {
    model: "m",
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "patch", input: 'a "b"' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ],
    tools: [patch, tool("look")],
    tool_choice: { type: "custom", custom: { name: "patch" } },
  };
  const mended = mendedChatRequest(request, { profile: functionsOnly });

  test("is offered, chosen and called so in the history", () => {
    const { body, repairs } = mended;
    expect(body.tools).toMatchObject([
      {
        type: "function",
        function: { name: "patch", parameters: { required: ["input"] } },
      },
      tool("look"),
    ]);
    expect(JSON.stringify(body.tools)).toContain("start: WORD");
    expect(body.tool_choice).toEqual({ type: "function", function: { name: "patch" } });
    expect(body.messages[1]).toMatchObject({
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "patch", arguments: '{"input":"a \\"b\\""}' },
        },
      ],
    });
    expect(JSON.stringify(body)).not.toContain('"custom"');
    expect(repairs.list.map(({ detail }) => detail)).toEqual([
      "tools: patch, a custom tool, as a function",
    ]);
  });

  test("is called as the client declared it, whatever the cuts", () => {
    const args = JSON.stringify({ input: 'Grüße,\n"du" \\ 🙂' });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
        fc.constantFrom("deltas" as const, "whole" as const),
        (cuts, toolCalls) => {
          const pieces: string[] = [];
          let at = 0;
          for (const cut of cuts) pieces.push(args.slice(at, (at += cut)));
          pieces.push(args.slice(at));
          const { message, finish } = reply(
            mended,
            [
              chunk(call({ index: 0, id: "call_aaa", name: "patch", args: "" })),
              ...pieces
                .filter((piece) => piece !== "")
                .map((piece) => chunk(call({ index: 0, args: piece }))),
              chunk({}, "tool_calls"),
            ],
            { toolCalls },
          );
          expect(message?.tool_calls).toEqual([
            {
              id: "call_aaa",
              type: "custom",
              custom: { name: "patch", input: 'Grüße,\n"du" \\ 🙂' },
            },
          ]);
          expect(finish).toBe("tool_calls");
        },
      ),
      runs(200),
    );
  });

  test("may be called with its bare input, which is counted", () => {
    const { message, repairs } = reply(mended, [
      chunk(call({ index: 0, id: "call_aaa", name: "patch", args: "*** Begin" })),
      chunk({}, "tool_calls"),
    ]);
    expect(message?.tool_calls).toMatchObject([{ custom: { input: "*** Begin" } }]);
    expect(repairs.counts.get("custom_input_unwrapped")).toBe(1);
  });

  test("is not run where its call was cut", () => {
    const { message, finish } = reply(
      mended,
      [
        chunk(call({ index: 0, id: "call_aaa", name: "patch", args: '{"input":"*** Beg' })),
        chunk({}, "length"),
      ],
      { toolCalls: "whole" },
    );
    expect(message?.tool_calls).toBeUndefined();
    expect(message?.["incomplete_tool_calls"]).toMatchObject([{ custom: { input: "*** Beg" } }]);
    expect(finish).toBe("length");
  });
});

test("calls of tools that were offered as declared pass as they are, unknown fields included", () => {
  const { body: _body, ...mended } = mendedChatRequest(
    { model: "m", messages: [user], tools: [patch, tool("look")] },
    { profile: functionsOnly },
  );
  const machine = new ChatOverChat({ ...mended, newId: newIds(), createdAt: 1 });
  const out: ChatOutput[] = [];
  const text = chunk({ role: "assistant", content: "I look." });
  const opened = chunk(call({ index: 0, id: "call_aaa", name: "look", args: '{"a":1}', x_own: 1 }));
  machine.push(text, out);
  machine.push(opened, out);
  expect(out[0]).toBe(text);
  expect((out[1] as { choices: JsonObject[] }).choices).toEqual(opened.choices);
});
