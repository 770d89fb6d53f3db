import type { JsonObject } from "@deltawire/wire";
import { malformedCount, withMalformed } from "../malformed-values.ts";
import { formatResponseEvents, buildResponse } from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* What an upstream may do wrong in the Responses API. */

const createdResponse = buildResponse({ status: "in_progress" });
const buildMessage = (text: unknown, overrides: JsonObject = {}): JsonObject => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: text as string, annotations: [] }],
  ...overrides,
});
const buildCall = (index: number, overrides: JsonObject = {}): JsonObject => ({
  id: `fc_${index}`,
  type: "function_call",
  call_id: `call_${index}`,
  name: "look",
  arguments: "{}",
  status: "completed",
  ...overrides,
});
const repeat = (count: number, build: (index: number) => JsonObject): JsonObject[] =>
  Array.from({ length: count }, (_, index) => build(index));

/** Long, many or malicious outputs: streamed item by item, or in a complete reply. */
const outputs: Record<string, () => JsonObject[]> = {
  "20,000 messages": () => repeat(20_000, (index) => buildMessage("x", { id: `msg_${index}` })),
  "16,000 function calls": () => repeat(16_000, (index) => buildCall(index)),
  "5,000 function calls with one id": () => repeat(5000, () => buildCall(0)),
  "5,000 reasoning items": () =>
    repeat(5000, (index) => ({
      id: `rs_${index}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: "r" }],
    })),
  "an item of 100,000 content parts": () => [
    buildMessage("x", {
      content: repeat(100_000, () => ({ type: "output_text", text: "x", annotations: [] })),
    }),
  ],
  "a summary of 100,000 parts": () => [
    {
      id: "rs_1",
      type: "reasoning",
      summary: repeat(100_000, () => ({ type: "summary_text", text: "r" })),
    },
  ],
  "text of 20 MB": () => [buildMessage("x".repeat(20_000_000))],
  "text of 240,000 backslashes": () => [buildMessage("\\".repeat(240_000))],
  "text of data:image/ and a million letters": () => [
    buildMessage(`data:image/${"a".repeat(1_000_000)}`),
  ],
  "100,000 annotations": () => [
    buildMessage("x", {
      content: [
        {
          type: "output_text",
          text: "x",
          annotations: repeat(100_000, () => ({ type: "url_citation", url: "x" })),
        },
      ],
    }),
  ],
  "arguments of 3 MB of backslashes": () => [
    buildCall(0, { arguments: `{"a":"${"\\".repeat(3_000_000)}` }),
  ],
  "arguments that are never closed": () => [buildCall(0, { arguments: '{"a":"' })],
  "arguments that are garbage": () => [buildCall(0, { arguments: "}{" })],
  "arguments nested 50,000 deep": () => [
    buildCall(0, { arguments: "[".repeat(50_000) + "]".repeat(50_000) }),
  ],
  "a call id of 2 MB": () => [buildCall(0, { call_id: "i".repeat(2_000_000) })],
  "encrypted reasoning of 10 MB": () => [
    { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "A".repeat(10_000_000) },
  ],
  "items of unknown types": () =>
    [
      "web_search_call",
      "image_generation_call",
      "mcp_call",
      "shell_call",
      "apply_patch_call",
      "future_call",
      "__proto__",
      "",
    ].map((type, index) => ({
      id: `x_${index}`,
      type,
      status: "completed",
      result: "A".repeat(1000),
    })),
  "an image of 20 MB": () => [
    {
      id: "ig_1",
      type: "image_generation_call",
      status: "completed",
      result: "A".repeat(20_000_000),
    },
  ],
  "items with one id": () => [buildMessage("a"), buildMessage("b"), buildCall(0, { id: "msg_1" })],
  "items without ids": () => [
    buildMessage("a", { id: null }),
    buildCall(0, { id: null, call_id: null }),
  ],
  "refusals and texts in turns": () => [
    buildMessage("x", {
      content: repeat(500, (index) =>
        index % 2 === 0
          ? { type: "refusal", refusal: "no" }
          : { type: "output_text", text: "x", annotations: [] },
      ),
    }),
  ],
};

/** Streams of malformed events. */
const streams: Record<string, () => Iterable<JsonObject>> = {
  "the end by response.cancelled": () => [
    { type: "response.created", response: createdResponse },
    { type: "response.cancelled", response: buildResponse({ status: "cancelled" }) },
  ],
  "nothing but response.cancelled": () => [
    { type: "response.cancelled", response: buildResponse({ status: "cancelled" }) },
  ],
  "no terminal event": () => [
    { type: "response.created", response: createdResponse },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "x",
    },
  ],
  "nothing but response.created": () => [{ type: "response.created", response: createdResponse }],
  "the end first": () => [
    { type: "response.completed", response: buildResponse({ output: [buildMessage("x")] }) },
    { type: "response.created", response: createdResponse },
  ],
  "two ends": () => [
    { type: "response.completed", response: buildResponse({}) },
    {
      type: "response.failed",
      response: buildResponse({ status: "failed", error: { code: "x", message: "y" } }),
    },
  ],
  "10,000 beginnings": () =>
    repeat(10_000, () => ({ type: "response.created", response: createdResponse })),
  "deltas of items that were never opened": () =>
    repeat(1000, (index) => ({
      type: "response.output_text.delta",
      item_id: `msg_${index}`,
      output_index: index,
      content_index: 0,
      delta: "x",
    })),
  "items that are opened and never done": () => [
    ...repeat(2000, (index) => ({
      type: "response.output_item.added",
      output_index: index,
      item: buildCall(index, { arguments: "", status: "in_progress" }),
    })),
    { type: "response.completed", response: buildResponse({}) },
  ],
  "items that are done and were never opened": () => [
    ...repeat(2000, (index) => ({
      type: "response.output_item.done",
      output_index: index,
      item: buildCall(index),
    })),
    { type: "response.completed", response: buildResponse({}) },
  ],
  "items that are done twice": () => [
    { type: "response.output_item.added", output_index: 0, item: buildCall(0) },
    ...repeat(100, () => ({
      type: "response.output_item.done",
      output_index: 0,
      item: buildCall(0),
    })),
    { type: "response.completed", response: buildResponse({ output: [buildCall(0)] }) },
  ],
  "odd indexes of outputs": () => [
    ...[-1, 1.5, 1e9, 2 ** 53, "x", null].map((output_index) => ({
      type: "response.output_item.added",
      output_index,
      item: buildMessage("x"),
    })),
    { type: "response.completed", response: buildResponse({}) },
  ],
  "odd numbers of the sequence": () => [
    ...[5, -1, 1e308, "x", null].map((sequence_number) => ({
      type: "response.in_progress",
      sequence_number,
      response: createdResponse,
    })),
    { type: "response.completed", sequence_number: 0, response: buildResponse({}) },
  ],
  *"100,000 deltas of a text"() {
    yield { type: "response.created", response: createdResponse };
    yield {
      type: "response.output_item.added",
      output_index: 0,
      item: buildMessage("", { status: "in_progress", content: [] }),
    };
    yield {
      type: "response.content_part.added",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    };
    for (let index = 0; index < 100_000; index += 1)
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
      item: buildMessage("x".repeat(100_000)),
    };
    yield {
      type: "response.completed",
      response: buildResponse({ output: [buildMessage("x".repeat(100_000))] }),
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
    { type: "response.completed", response: buildResponse({}) },
  ],
  "an error event without a message": () => [{ type: "error" }],
  "a failure without an error": () => [
    { type: "response.failed", response: buildResponse({ status: "failed" }) },
  ],
  "a terminal event that does not match the status": () => [
    { type: "response.completed", response: buildResponse({ status: "in_progress" }) },
  ],
  "an end without a response": () => [{ type: "response.completed" }],
  "event types of 1 MB": () => [
    { type: "response.".padEnd(1_000_000, "x") },
    { type: "response.completed", response: buildResponse({}) },
  ],
};

/** Fields of the response, in a complete reply and at the end of a stream, that get every malformed value in turn. */
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
    ].map((name) => [name, (value: unknown) => buildResponse({ [name]: value as JsonObject })]),
  ),
  "an item": (value) => buildResponse({ output: [value as JsonObject, buildMessage("x")] }),
  ...Object.fromEntries(
    ["id", "type", "role", "status", "content"].map((name) => [
      `${name} of a message`,
      (value: unknown) =>
        buildResponse({ output: [buildMessage("x", { [name]: value as string })] }),
    ]),
  ),
  "the text of a part": (value) => buildResponse({ output: [buildMessage(value)] }),
  "a content part": (value) =>
    buildResponse({ output: [buildMessage("x", { content: [value as JsonObject] })] }),
  ...Object.fromEntries(
    ["id", "call_id", "name", "arguments", "status"].map((name) => [
      `${name} of a function call`,
      (value: unknown) => buildResponse({ output: [buildCall(0, { [name]: value as string })] }),
    ]),
  ),
  "the summary of reasoning": (value) =>
    buildResponse({ output: [{ id: "rs_1", type: "reasoning", summary: value as JsonObject[] }] }),
  "numbers of the usage": (value) =>
    buildResponse({
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
      if (!reply.stream) return reply.json(JSON.stringify(buildResponse({ output })));
      return reply.events(joinEvents(formatResponseEvents(buildItemEvents(output))));
    },
  })),
  ...Object.entries(streams).map(([name, events]): UpstreamMode => ({
    name: `responses: ${name}`,
    wires: ["responses"],
    forms: ["streamed"],
    play: (reply) => reply.events(joinEvents(formatResponseEvents(events()))),
  })),
  {
    name: "responses: complete replies of every status",
    wires: ["responses"],
    forms: ["complete"],
    variants: statuses.length,
    play: (reply) =>
      reply.json(
        JSON.stringify(
          buildResponse({ status: statuses[reply.variant] ?? null, output: [buildMessage("x")] }),
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
        formatResponseEvents([
          { type: "response.created", response: createdResponse },
          {
            type: `response.${status}`,
            response: buildResponse({ status, output: [buildMessage("x")] }),
          },
        ]),
      );
    },
  },
  ...Object.entries(fields).map(([name, build]): UpstreamMode => ({
    name: `responses: odd values for ${name}`,
    wires: ["responses"],
    variants: malformedCount,
    play: (reply) => {
      const text = withMalformed(reply.variant, build);
      if (!reply.stream) return reply.json(text);
      return reply.events([
        ...formatResponseEvents([{ type: "response.created", response: createdResponse }]),
        `event: response.completed\ndata: {"type":"response.completed","sequence_number":1,"response":${text}}\n\n`,
      ]);
    },
  })),
];

function* buildItemEvents(output: readonly JsonObject[]): Generator<JsonObject> {
  yield { type: "response.created", response: createdResponse };
  for (const [output_index, item] of output.entries()) {
    yield {
      type: "response.output_item.added",
      output_index,
      item: { ...item, status: "in_progress" },
    };
    yield { type: "response.output_item.done", output_index, item };
  }
  yield { type: "response.completed", response: buildResponse({ output: [...output] }) };
}

/** Yields several events at once, as a network joins them. */
function* joinEvents(events: Iterable<string>): Generator<string> {
  let text = "";
  for (const event of events) {
    text += event;
    if (text.length < 30_000) continue;
    yield text;
    text = "";
  }
  yield text;
}
