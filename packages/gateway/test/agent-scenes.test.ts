import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readConversation } from "../agents/model/conversation.ts";
import { buildPrompt, listCalls, planReply } from "../agents/model/scenes.ts";
import { wires, type Wire } from "../agents/wires.ts";

// The scripted model of `npm run test:agents` must notice what a gateway does wrong.

const mark = "m1";
const parameters = { type: "object", properties: { command: { type: "string" } } };
const [[call] = []] = listCalls("chain", mark);
const id = call?.id ?? "";
const output = call?.output ?? "";
const reasoning = "Thought 1 about m1.";
const sealed = Buffer.from("sealed thought 1 about m1").toString("base64");

interface History {
  /** Default: as the model sent it. */
  id?: string;
  output?: string;
  reasoning?: string;
  sealed?: string;
}

/** A request after the first call of the scene `chain`, in each API. */
const buildRequest: Record<Wire, (history: Required<History>) => JsonObject> = {
  chat: (history) => ({
    tools: [{ type: "function", function: { name: "bash", parameters } }],
    messages: [
      { role: "user", content: buildPrompt("chain", mark) },
      {
        role: "assistant",
        content: "One moment.",
        reasoning_content: history.reasoning,
        tool_calls: [
          { id: history.id, type: "function", function: { name: "bash", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: history.id, content: history.output },
    ],
  }),
  responses: (history) => ({
    tools: [{ type: "function", name: "bash", parameters }],
    input: [
      { role: "user", content: buildPrompt("chain", mark) },
      { type: "reasoning", summary: [], encrypted_content: history.sealed },
      { type: "function_call", call_id: history.id, name: "bash", arguments: "{}" },
      { type: "function_call_output", call_id: history.id, output: history.output },
    ],
  }),
  messages: (history) => ({
    tools: [{ name: "bash", input_schema: parameters }],
    messages: [
      { role: "user", content: buildPrompt("chain", mark) },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: history.reasoning, signature: history.sealed },
          { type: "tool_use", id: history.id, name: "bash", input: {} },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: history.id, content: history.output }],
      },
    ],
  }),
};

function plan(wire: Wire, history: History = {}) {
  const request = buildRequest[wire]({ id, output, reasoning, sealed, ...history });
  return planReply(wire, readConversation(wire, request), { isReasoningRequired: true });
}

describe.each(wires)("the scripted model, on %s,", (wire) => {
  test("continues a history that is as it sent it", () => {
    const { faults, isRefused, reply } = plan(wire);
    expect({ faults, isRefused }).toEqual({ faults: [], isRefused: false });
    expect(reply.calls?.map((each) => each.id)).toEqual([listCalls("chain", mark)[1]?.[0]?.id]);
  });

  test("refuses a call without its reasoning", () => {
    const { faults, isRefused } = plan(wire, { reasoning: "", sealed: "" });
    expect(faults).toEqual([`${id} was returned without its reasoning`]);
    expect(isRefused).toBe(true);
  });

  test("refuses a call with the reasoning of another one", () => {
    const { faults, isRefused } = plan(wire, { reasoning: "Another thought", sealed: "b3RoZXI=" });
    expect(faults).toEqual([expect.stringContaining(`reasoning of ${id}`)]);
    expect(isRefused).toBe(true);
  });

  test("notices another result and another id", () => {
    expect(plan(wire, { output: "something else" }).faults).toEqual([
      `result of ${id}: something else`,
    ]);
    expect(plan(wire, { id: "call_other" }).faults).toContainEqual(
      expect.stringContaining("calls call_other instead of "),
    );
  });
});
