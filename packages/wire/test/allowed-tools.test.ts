import {
  AllowedTools,
  type ChatDelta,
  ResponsesOverResponses,
  translateResponsesRequest,
  type JsonObject,
  type ResponsesRequest,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findEventFaults } from "../check/open-responses.ts";
import { call, chunk } from "./chat-chunks.ts";
import { translateToResponses } from "./translate-reply.ts";

/* A `tool_choice` of type `allowed_tools` is a hard limit, whatever the upstream does. */

const request: ResponsesRequest = {
  model: "m",
  input: "hi",
  tools: [
    { type: "function", name: "get_weather" },
    { type: "function", name: "health" },
    { type: "namespace", name: "files", tools: [{ type: "function", name: "read" }] },
  ],
  tool_choice: {
    type: "allowed_tools",
    mode: "auto",
    tools: [
      { type: "function", name: "get_weather" },
      { type: "namespace", name: "files" },
    ],
  },
};
const allowedTools = AllowedTools.find(request.tool_choice);

describe("on a Chat upstream", () => {
  const weather = call({ index: 0, id: "call_aaa", name: "get_weather", args: "{}" });
  const health = call({ index: 1, id: "call_bbb", name: "health", args: '{"a":1}' });
  const read = call({ index: 2, id: "call_ccc", name: "files__read", args: "{}" });

  function translate(...deltas: ChatDelta[]) {
    const { body, ...options } = translateResponsesRequest(request);
    const inputs = [...deltas.map((delta) => chunk(delta)), chunk({}, "tool_calls")];
    return { body, ...translateToResponses(inputs, options), repairs: options.repairs };
  }

  test("only the allowed tools are offered", () => {
    expect(translate().body.tools).toMatchObject([
      { function: { name: "get_weather" } },
      { function: { name: "files__read" } },
    ]);
  });

  test("a call of another tool is withheld with a repair, and allowed calls are sent", () => {
    const { events, output, repairs } = translate(weather, health, read);
    expect(output).toMatchObject([
      { type: "function_call", name: "get_weather" },
      { type: "function_call", name: "read", namespace: "files" },
    ]);
    expect(findEventFaults(events)).toEqual([]);
    expect(JSON.stringify(events)).not.toContain("call_bbb");
    expect(repairs.list).toContainEqual({
      code: "call_withheld",
      choice: 0,
      detail: "health: not in allowed_tools",
    });
  });

  test("a reply that consists only of such a call fails, a text before it remains", () => {
    expect(translate({ reasoning: "hm" }, health).response).toMatchObject({
      status: "failed",
      error: {
        code: "tool_not_allowed",
        message: 'the model called "health", which tool_choice.tools does not allow',
      },
    });
    expect(translate({ content: "Hi" }, health).response).toMatchObject({
      status: "completed",
      output: [{ type: "message" }],
    });
  });
});

describe("on a Responses upstream", () => {
  const opening = { type: "response.created", response: { id: "resp_1", model: "m" } };
  const item = (name: string, id: string) => ({
    type: "function_call",
    id,
    call_id: `call_${id}`,
    name,
    arguments: "{}",
    status: "completed",
  });
  const weather = item("get_weather", "fc_1");
  const health = item("health", "fc_2");
  const streamItem = (done: JsonObject, output_index: number): UpstreamResponseEvent[] => [
    {
      type: "response.output_item.added",
      output_index,
      item: { ...done, arguments: "", status: "in_progress" },
    },
    {
      type: "response.function_call_arguments.delta",
      item_id: done["id"],
      output_index,
      delta: "{}",
    },
    {
      type: "response.function_call_arguments.done",
      item_id: done["id"],
      output_index,
      arguments: "{}",
    },
    { type: "response.output_item.done", output_index, item: done },
  ];

  function repair(...events: UpstreamResponseEvent[]) {
    const machine = new ResponsesOverResponses({ responseId: "r", createdAt: 1, allowedTools });
    const out: UpstreamResponseEvent[] = [];
    for (const event of [opening, ...events]) machine.push(event, out);
    machine.end("eof", out);
    return { out, last: out.at(-1), machine };
  }
  const complete = (...output: JsonObject[]) => ({
    type: "response.completed",
    response: { id: "resp_1", status: "completed", output },
  });

  test("a call of another tool is withheld with its deltas, streamed or not", () => {
    const streamed = repair(
      ...streamItem(health, 0),
      ...streamItem(weather, 1),
      complete(health, weather),
    );
    const { out, last, machine } = streamed;
    expect(JSON.stringify(out)).not.toContain("fc_2");
    expect(last).toMatchObject({ type: "response.completed", response: { output: [weather] } });
    expect(machine.repairs.counts.get("call_withheld")).toBe(1);
    expect(findEventFaults(out)).toEqual([]);
    expect(repair(complete(health, weather)).last).toMatchObject({
      response: { status: "completed", output: [weather] },
    });
  });

  test("a reply that consists only of such a call fails", () => {
    const { last, machine } = repair(...streamItem(health, 0), complete(health));
    expect(last).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { code: "tool_not_allowed" }, output: [] },
    });
    expect(machine.failure?.code).toBe("tool_not_allowed");
  });

  test("hosted tools, which the upstream has already run, are not affected", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed" };
    expect(repair(complete(search)).last).toMatchObject({ response: { output: [search] } });
  });
});
