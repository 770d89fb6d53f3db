import type { JsonObject } from "@deltawire/wire";
import { oddities, withOddity } from "../odd-values.ts";
import { responseEvents, responseWith } from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* What an upstream may send wrongly on the Responses wire. */

const begun = responseWith({ status: "in_progress" });
const message = (text: unknown, more: JsonObject = {}): JsonObject => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: text as string, annotations: [] }],
  ...more,
});
const call = (at: number, more: JsonObject = {}): JsonObject => ({
  id: `fc_${at}`,
  type: "function_call",
  call_id: `call_${at}`,
  name: "look",
  arguments: "{}",
  status: "completed",
  ...more,
});
const many = (count: number, build: (at: number) => JsonObject): JsonObject[] =>
  Array.from({ length: count }, (_, at) => build(at));

/** Outputs that are long, many or malicious: streamed item by item, or in a complete reply. */
const outputs: Record<string, () => JsonObject[]> = {
  "20,000 messages": () => many(20_000, (at) => message("x", { id: `msg_${at}` })),
  "16,000 function calls": () => many(16_000, (at) => call(at)),
  "5,000 function calls with one id": () => many(5000, () => call(0)),
  "5,000 reasoning items": () =>
    many(5000, (at) => ({
      id: `rs_${at}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: "r" }],
    })),
  "an item of 100,000 content parts": () => [
    message("x", {
      content: many(100_000, () => ({ type: "output_text", text: "x", annotations: [] })),
    }),
  ],
  "a summary of 100,000 parts": () => [
    {
      id: "rs_1",
      type: "reasoning",
      summary: many(100_000, () => ({ type: "summary_text", text: "r" })),
    },
  ],
  "a text of 20 MB": () => [message("x".repeat(20_000_000))],
  "a text of 240,000 backslashes": () => [message("\\".repeat(240_000))],
  "a text of data:image/ and a million letters": () => [
    message(`data:image/${"a".repeat(1_000_000)}`),
  ],
  "100,000 annotations": () => [
    message("x", {
      content: [
        {
          type: "output_text",
          text: "x",
          annotations: many(100_000, () => ({ type: "url_citation", url: "x" })),
        },
      ],
    }),
  ],
  "arguments of 3 MB of backslashes": () => [
    call(0, { arguments: `{"a":"${"\\".repeat(3_000_000)}` }),
  ],
  "arguments that are never closed": () => [call(0, { arguments: '{"a":"' })],
  "arguments that are garbage": () => [call(0, { arguments: "}{" })],
  "arguments nested 50,000 deep": () => [
    call(0, { arguments: "[".repeat(50_000) + "]".repeat(50_000) }),
  ],
  "a call id of 2 MB": () => [call(0, { call_id: "i".repeat(2_000_000) })],
  "encrypted reasoning of 10 MB": () => [
    { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "A".repeat(10_000_000) },
  ],
  "items of types that nobody knows": () =>
    [
      "web_search_call",
      "image_generation_call",
      "mcp_call",
      "shell_call",
      "apply_patch_call",
      "future_call",
      "__proto__",
      "",
    ].map((type, at) => ({ id: `x_${at}`, type, status: "completed", result: "A".repeat(1000) })),
  "an image of 20 MB": () => [
    {
      id: "ig_1",
      type: "image_generation_call",
      status: "completed",
      result: "A".repeat(20_000_000),
    },
  ],
  "items with one id": () => [message("a"), message("b"), call(0, { id: "msg_1" })],
  "items without ids": () => [message("a", { id: null }), call(0, { id: null, call_id: null })],
  "refusals and texts in turns": () => [
    message("x", {
      content: many(500, (at) =>
        at % 2 === 0
          ? { type: "refusal", refusal: "no" }
          : { type: "output_text", text: "x", annotations: [] },
      ),
    }),
  ],
};

/** Streams of odd events. */
const streams: Record<string, () => Iterable<JsonObject>> = {
  "the end by response.cancelled": () => [
    { type: "response.created", response: begun },
    { type: "response.cancelled", response: responseWith({ status: "cancelled" }) },
  ],
  "nothing but response.cancelled": () => [
    { type: "response.cancelled", response: responseWith({ status: "cancelled" }) },
  ],
  "no terminal event": () => [
    { type: "response.created", response: begun },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "x",
    },
  ],
  "nothing but response.created": () => [{ type: "response.created", response: begun }],
  "the end first": () => [
    { type: "response.completed", response: responseWith({ output: [message("x")] }) },
    { type: "response.created", response: begun },
  ],
  "two ends": () => [
    { type: "response.completed", response: responseWith({}) },
    {
      type: "response.failed",
      response: responseWith({ status: "failed", error: { code: "x", message: "y" } }),
    },
  ],
  "10,000 beginnings": () => many(10_000, () => ({ type: "response.created", response: begun })),
  "deltas of items that nobody opened": () =>
    many(1000, (at) => ({
      type: "response.output_text.delta",
      item_id: `msg_${at}`,
      output_index: at,
      content_index: 0,
      delta: "x",
    })),
  "items that are opened and never done": () => [
    ...many(2000, (at) => ({
      type: "response.output_item.added",
      output_index: at,
      item: call(at, { arguments: "", status: "in_progress" }),
    })),
    { type: "response.completed", response: responseWith({}) },
  ],
  "items that are done and were never opened": () => [
    ...many(2000, (at) => ({
      type: "response.output_item.done",
      output_index: at,
      item: call(at),
    })),
    { type: "response.completed", response: responseWith({}) },
  ],
  "items that are done twice": () => [
    { type: "response.output_item.added", output_index: 0, item: call(0) },
    ...many(100, () => ({ type: "response.output_item.done", output_index: 0, item: call(0) })),
    { type: "response.completed", response: responseWith({ output: [call(0)] }) },
  ],
  "odd indexes of outputs": () => [
    ...[-1, 1.5, 1e9, 2 ** 53, "x", null].map((output_index) => ({
      type: "response.output_item.added",
      output_index,
      item: message("x"),
    })),
    { type: "response.completed", response: responseWith({}) },
  ],
  "odd numbers of the sequence": () => [
    ...[5, -1, 1e308, "x", null].map((sequence_number) => ({
      type: "response.in_progress",
      sequence_number,
      response: begun,
    })),
    { type: "response.completed", sequence_number: 0, response: responseWith({}) },
  ],
  *"100,000 pieces of a text"() {
    yield { type: "response.created", response: begun };
    yield {
      type: "response.output_item.added",
      output_index: 0,
      item: message("", { status: "in_progress", content: [] }),
    };
    yield {
      type: "response.content_part.added",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    };
    for (let at = 0; at < 100_000; at += 1)
      yield {
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta: "x",
      };
    yield {
      type: "response.output_item.done",
      output_index: 0,
      item: message("x".repeat(100_000)),
    };
    yield {
      type: "response.completed",
      response: responseWith({ output: [message("x".repeat(100_000))] }),
    };
  },
  "chunks of the Chat wire": () => [
    {
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: "x" }, finish_reason: "stop" }],
    },
  ],
  "an error event and an end": () => [
    { type: "error", code: "x", message: "y", param: null },
    { type: "response.completed", response: responseWith({}) },
  ],
  "an error event without a message": () => [{ type: "error" }],
  "a failure without an error": () => [
    { type: "response.failed", response: responseWith({ status: "failed" }) },
  ],
  "an end of another status": () => [
    { type: "response.completed", response: responseWith({ status: "in_progress" }) },
  ],
  "an end without a response": () => [{ type: "response.completed" }],
  "event types of 1 MB": () => [
    { type: "response.".padEnd(1_000_000, "x") },
    { type: "response.completed", response: responseWith({}) },
  ],
};

/** Fields of the response, in a complete reply and at the end of a stream, that get every odd value in turn. */
const fields: Record<string, (value: unknown) => JsonObject> = {
  "the response itself": (value) => value as JsonObject,
  ...Object.fromEntries(
    [
      "id",
      "object",
      "created_at",
      "status",
      "model",
      "output",
      "usage",
      "error",
      "incomplete_details",
      "tools",
      "metadata",
      "output_text",
    ].map((name) => [name, (value: unknown) => responseWith({ [name]: value as JsonObject })]),
  ),
  "an item": (value) => responseWith({ output: [value as JsonObject, message("x")] }),
  ...Object.fromEntries(
    ["id", "type", "role", "status", "content"].map((name) => [
      `${name} of a message`,
      (value: unknown) => responseWith({ output: [message("x", { [name]: value as string })] }),
    ]),
  ),
  "the text of a part": (value) => responseWith({ output: [message(value)] }),
  "a content part": (value) =>
    responseWith({ output: [message("x", { content: [value as JsonObject] })] }),
  ...Object.fromEntries(
    ["id", "call_id", "name", "arguments", "status"].map((name) => [
      `${name} of a function call`,
      (value: unknown) => responseWith({ output: [call(0, { [name]: value as string })] }),
    ]),
  ),
  "the summary of reasoning": (value) =>
    responseWith({ output: [{ id: "rs_1", type: "reasoning", summary: value as JsonObject[] }] }),
  "numbers of the usage": (value) =>
    responseWith({
      usage: {
        input_tokens: value,
        output_tokens: value,
        total_tokens: value,
        input_tokens_details: value,
      } as JsonObject,
    }),
};

const statuses = [
  "cancelled",
  "canceled",
  "queued",
  "in_progress",
  "requires_action",
  "failed",
  "incomplete",
  "expired",
  "",
  null,
];

export const responsesModes: readonly UpstreamMode[] = [
  ...Object.entries(outputs).map(([name, build]): UpstreamMode => ({
    name: `responses: ${name}`,
    wires: ["responses"],
    play: (reply) => {
      const output = build();
      if (!reply.stream) return reply.json(JSON.stringify(responseWith({ output })));
      return reply.events(joined(responseEvents(eventsOf(output))));
    },
  })),
  ...Object.entries(streams).map(([name, events]): UpstreamMode => ({
    name: `responses: ${name}`,
    wires: ["responses"],
    forms: ["streamed"],
    play: (reply) => reply.events(joined(responseEvents(events()))),
  })),
  {
    name: "responses: complete replies of every status",
    wires: ["responses"],
    forms: ["complete"],
    variants: statuses.length,
    play: (reply) =>
      reply.json(
        JSON.stringify(
          responseWith({ status: statuses[reply.variant] ?? null, output: [message("x")] }),
        ),
      ),
  },
  {
    name: "responses: streams that end in every status",
    wires: ["responses"],
    forms: ["streamed"],
    variants: statuses.length,
    play: (reply) => {
      const status = statuses[reply.variant] ?? null;
      return reply.events(
        responseEvents([
          { type: "response.created", response: begun },
          {
            type: `response.${status}`,
            response: responseWith({ status, output: [message("x")] }),
          },
        ]),
      );
    },
  },
  ...Object.entries(fields).map(([name, build]): UpstreamMode => ({
    name: `responses: odd values for ${name}`,
    wires: ["responses"],
    variants: oddities,
    play: (reply) => {
      const text = withOddity(reply.variant, build);
      if (!reply.stream) return reply.json(text);
      return reply.events([
        ...responseEvents([{ type: "response.created", response: begun }]),
        `event: response.completed\ndata: {"type":"response.completed","sequence_number":1,"response":${text}}\n\n`,
      ]);
    },
  })),
];

function* eventsOf(output: readonly JsonObject[]): Generator<JsonObject> {
  yield { type: "response.created", response: begun };
  for (const [output_index, item] of output.entries()) {
    yield {
      type: "response.output_item.added",
      output_index,
      item: { ...item, status: "in_progress" },
    };
    yield { type: "response.output_item.done", output_index, item };
  }
  yield { type: "response.completed", response: responseWith({ output: [...output] }) };
}

/** Events in pieces of some size, as a network joins them. */
function* joined(events: Iterable<string>): Generator<string> {
  let piece = "";
  for (const one of events) {
    piece += one;
    if (piece.length < 30_000) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}
