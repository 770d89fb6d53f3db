import {
  repairChatReply,
  ChatOverChat,
  collectChat,
  genericProfile,
  repairChatRequest,
  withProfileFlags,
  type UpstreamChatEvent,
  type ChatMessage,
  type ChatStreamEvent,
  type ChatRequest,
  type ChatTool,
  type JsonObject,
  type RepairedChatRequest,
} from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { call, chunk } from "./chat-chunks.ts";
import { createIdCounter } from "./translate-reply.ts";

/* Some tools are sent to a Chat upstream under another name or as functions. Their calls are mapped back. */

const longName = `mcp__${"server_".repeat(9)}search`;
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
const functionsOnly = withProfileFlags(genericProfile, { customTools: "function" });

/** Returns the message and finish reason that the client receives for a reply to its request. */
function translateReply(
  { body: _body, ...repaired }: RepairedChatRequest,
  inputs: readonly UpstreamChatEvent[],
  options: { toolCalls?: "deltas" | "complete" } = {},
) {
  const machine = new ChatOverChat({
    ...repaired,
    newId: createIdCounter(),
    createdAt: 1,
    ...options,
  });
  const out: ChatStreamEvent[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end("eof", out);
  expect(findChatSequenceFaults(out)).toEqual([]);
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
        tool_calls: [
          { id: "call_1", type: "function", function: { name: longName, arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", name: longName, content: "ok" },
    ],
    tools: [tool(longName), tool("look")],
    tool_choice: { type: "function", function: { name: longName } },
  };
  const repaired = repairChatRequest(request);
  const { body, toolNames, toolSchemas, repairs } = repaired;
  const [alias = ""] = [...toolNames];

  test("is shortened everywhere to the same name, with a repair", () => {
    expect(alias).toMatch(/^mcp__server_[\w-]{1,53}$/);
    expect(alias.length).toBeLessThanOrEqual(64);
    expect(JSON.stringify(body)).not.toContain(longName);
    expect(body.tools).toEqual([tool(alias), tool("look")]);
    expect(body.tool_choice).toEqual({ type: "function", function: { name: alias } });
    expect(body.messages.slice(1)).toMatchObject([
      { tool_calls: [{ function: { name: alias } }] },
      { role: "tool", name: alias },
    ]);
    expect([...toolSchemas.keys()]).toEqual([alias, "look"]);
    expect(repairs.list).toEqual([
      { code: "tool_renamed", choice: 0, detail: `${longName} -> ${alias}` },
    ]);
    expect([...repairChatRequest(request).toolNames]).toEqual([alias, "look"]);
  });

  test("is shortened in a list of allowed tools", () => {
    const allowed = [tool(longName), tool("look")].map(({ type }, index) => ({
      type,
      function: { name: index === 0 ? longName : "look" },
    }));
    const choice = {
      type: "allowed_tools" as const,
      allowed_tools: { mode: "auto", tools: allowed },
    };
    expect(repairChatRequest({ ...request, tool_choice: choice }).body.tool_choice).toEqual({
      type: "allowed_tools",
      allowed_tools: {
        mode: "auto",
        tools: [{ type: "function", function: { name: alias } }, allowed[1]],
      },
    });
  });

  test("is mapped back to the client's name in call deltas, in complete calls and in complete replies", () => {
    const inputs: UpstreamChatEvent[] = [
      chunk(call({ index: 0, id: "call_aaa", name: alias, args: '{"q":' })),
      chunk(call({ index: 0, args: "1}" })),
      chunk(call({ index: 1, id: "call_bbb", name: "look", args: "{}" })),
      chunk({}, "tool_calls"),
    ];
    const calls = [
      { id: "call_aaa", type: "function", function: { name: longName, arguments: '{"q":1}' } },
      { id: "call_bbb", type: "function", function: { name: "look", arguments: "{}" } },
    ];
    expect(translateReply(repaired, inputs).message?.tool_calls).toEqual(calls);
    expect(translateReply(repaired, inputs, { toolCalls: "complete" }).message?.tool_calls).toEqual(
      calls,
    );
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_aaa", type: "function", function: { name: alias, arguments: "{}" } },
      ],
    };
    const { body: _body, ...replyOptions } = repaired;
    const complete = repairChatReply(
      { id: "c", choices: [{ index: 0, message, finish_reason: "tool_calls" }] },
      { ...replyOptions, newId: createIdCounter(), createdAt: 1 },
    );
    expect(complete).toMatchObject({
      completion: { choices: [{ message: { tool_calls: [{ function: { name: longName } }] } }] },
    });
  });
});

describe("a custom tool that is sent as a function", () => {
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
  const repaired = repairChatRequest(request, { profile: functionsOnly });

  test("is a function in tools, tool_choice and the history", () => {
    const { body, repairs } = repaired;
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
      "tools: custom tool patch sent as a function",
    ]);
  });

  test("has calls in the client's format, however the arguments are split", () => {
    const args = JSON.stringify({ input: 'Grüße,\n"du" \\ 🙂' });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
        fc.constantFrom("deltas" as const, "complete" as const),
        (cuts, toolCalls) => {
          const pieces: string[] = [];
          let at = 0;
          for (const cut of cuts) pieces.push(args.slice(at, (at += cut)));
          pieces.push(args.slice(at));
          const { message, finish } = translateReply(
            repaired,
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
      propertyRuns(200),
    );
  });

  test("may be called with plain input, with a repair", () => {
    const { message, repairs } = translateReply(repaired, [
      chunk(call({ index: 0, id: "call_aaa", name: "patch", args: "*** Begin" })),
      chunk({}, "tool_calls"),
    ]);
    expect(message?.tool_calls).toMatchObject([{ custom: { input: "*** Begin" } }]);
    expect(repairs.counts.get("custom_input_unwrapped")).toBe(1);
  });

  test("has an incomplete call if the reply is truncated", () => {
    const { message, finish } = translateReply(
      repaired,
      [
        chunk(call({ index: 0, id: "call_aaa", name: "patch", args: '{"input":"*** Beg' })),
        chunk({}, "length"),
      ],
      { toolCalls: "complete" },
    );
    expect(message?.tool_calls).toBeUndefined();
    expect(message?.["incomplete_tool_calls"]).toMatchObject([{ custom: { input: "*** Beg" } }]);
    expect(finish).toBe("length");
  });
});

test("calls of tools that need no translation are not changed, including unknown fields", () => {
  const { body: _body, ...repaired } = repairChatRequest(
    { model: "m", messages: [user], tools: [patch, tool("look")] },
    { profile: functionsOnly },
  );
  const machine = new ChatOverChat({ ...repaired, newId: createIdCounter(), createdAt: 1 });
  const out: ChatStreamEvent[] = [];
  const text = chunk({ role: "assistant", content: "I look." });
  const opened = chunk(call({ index: 0, id: "call_aaa", name: "look", args: '{"a":1}', x_own: 1 }));
  machine.push(text, out);
  machine.push(opened, out);
  expect(out[0]).toBe(text);
  expect((out[1] as { choices: JsonObject[] }).choices).toEqual(opened.choices);
});
