import type { JsonObject } from "@deltawire/wire";
import { malformedCount, withMalformed } from "../malformed-values.ts";
import {
  buildMessage,
  formatFirstEvent,
  formatMessageEvents,
  encodeGoodReply,
} from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* What an upstream may do wrong in the Messages API. */

const start: JsonObject = { type: "message_start", message: buildMessage({}) };
const stop: JsonObject = { type: "message_stop" };
const buildEnd = (stop_reason: unknown): JsonObject[] => [
  {
    type: "message_delta",
    delta: { stop_reason: stop_reason as string, stop_sequence: null },
    usage: { output_tokens: 3 },
  },
  stop,
];
const buildText = (text: unknown): JsonObject => ({ type: "text", text: text as string });
const buildCall = (index: number, overrides: JsonObject = {}): JsonObject => ({
  type: "tool_use",
  id: `toolu_${index}`,
  name: "look",
  input: { a: "b" },
  ...overrides,
});
const blockStart = (index: unknown, content_block: unknown): JsonObject => ({
  type: "content_block_start",
  index: index as number,
  content_block: content_block as JsonObject,
});
const blockDelta = (index: unknown, delta: unknown): JsonObject => ({
  type: "content_block_delta",
  index: index as number,
  delta: delta as JsonObject,
});
const blockStop = (index: unknown): JsonObject => ({
  type: "content_block_stop",
  index: index as number,
});
const textDelta = (text: string): JsonObject => ({ type: "text_delta", text });
const inputDelta = (partial_json: string): JsonObject => ({
  type: "input_json_delta",
  partial_json,
});
const repeat = (count: number, build: (index: number) => JsonObject): JsonObject[] =>
  Array.from({ length: count }, (_, index) => build(index));

/** Returns an object that is nested this deep. */
function nest(depth: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** Long, many or malicious contents: streamed block by block, or in a complete reply. */
const contents: Record<string, () => JsonObject[]> = {
  "20,000 text blocks": () => repeat(20_000, () => buildText("x")),
  "16,000 calls": () => repeat(16_000, (index) => buildCall(index)),
  "5,000 calls with one id": () => repeat(5000, () => buildCall(0)),
  "5,000 calls without ids": () => repeat(5000, (index) => buildCall(index, { id: null })),
  "5,000 calls without names": () => repeat(5000, (index) => buildCall(index, { name: "" })),
  "calls with ids that are not legal": () =>
    ["functions.look:0", "a b", "é", "\u0000", "x".repeat(2_000_000)].map((id) =>
      buildCall(0, { id }),
    ),
  "calls named after methods": () =>
    ["__proto__", "constructor", "toString", "hasOwnProperty"].map((name, index) =>
      buildCall(index, { id: name, name }),
    ),
  "a call with a name of 2 MB": () => [buildCall(0, { name: "n".repeat(2_000_000) })],
  "a call whose input is nested 3,000 deep": () => [buildCall(0, { input: nest(3000) })],
  "a call with an input of 100,000 fields": () => [
    buildCall(0, {
      input: Object.fromEntries(
        Array.from({ length: 100_000 }, (_, index) => [`f${index}`, index]),
      ),
    }),
  ],
  "5,000 thinking blocks": () =>
    repeat(5000, (index) => ({ type: "thinking", thinking: "r", signature: `s${index}` })),
  "thinking of 10 MB with a signature of 10 MB": () => [
    { type: "thinking", thinking: "r".repeat(10_000_000), signature: "A".repeat(10_000_000) },
  ],
  "thinking without signatures": () => [
    { type: "thinking", thinking: "r" },
    { type: "thinking", thinking: "r", signature: "" },
    { type: "thinking", thinking: "", signature: "dw1.AAAA" },
  ],
  "5,000 redacted thinking blocks": () =>
    repeat(5000, () => ({ type: "redacted_thinking", data: "AAAA" })),
  "text of 20 MB": () => [buildText("x".repeat(20_000_000))],
  "text of 240,000 backslashes": () => [buildText("\\".repeat(240_000))],
  "lone surrogates and nulls": () => [buildText("\ud800 \u0000"), buildCall(0, { name: "\ud800" })],
  "100,000 citations": () => [
    { ...buildText("x"), citations: repeat(100_000, () => ({ type: "char_location" })) },
  ],
  "blocks of tools of the server": () => [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [null, 1, {}] as never },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_9", content: { error_code: "x" } },
    { type: "mcp_tool_use", id: "m", name: "x", server_name: "y", input: {} },
    { type: "mcp_tool_result", tool_use_id: "m", is_error: true, content: [] },
    { type: "code_execution_tool_result", tool_use_id: "z", content: "x" },
  ],
  "blocks of unknown types": () =>
    ["future_block", "__proto__", "", "tool_result", "image", "compaction", "fallback"].map(
      (type) => ({
        type,
        content: "x".repeat(1000),
      }),
    ),
};

/** Streams of many or malicious events. */
const streams: Record<string, () => Iterable<JsonObject>> = {
  "no end": () => [start, blockStart(0, buildText("")), blockDelta(0, textDelta("x"))],
  "nothing but message_start": () => [start],
  "message_stop without a stop reason": () => [start, stop],
  "nothing but message_stop": () => [stop],
  "the end first": () => [...buildEnd("end_turn"), start],
  "two ends": () => [start, ...buildEnd("end_turn"), ...buildEnd("tool_use")],
  "10,000 starts": () => [...repeat(10_000, () => start), ...buildEnd("end_turn")],
  "a second start of another message": () => [
    start,
    { type: "message_start", message: buildMessage({ id: "msg_2" }) },
    ...buildEnd("end_turn"),
  ],
  "blocks without message_start": () => [
    blockStart(0, buildText("")),
    blockDelta(0, textDelta("x")),
    blockStop(0),
    ...buildEnd("end_turn"),
  ],
  "blocks that are never closed": () => [
    start,
    ...repeat(2000, (index) => blockStart(index, buildCall(index, { input: {} }))),
    ...buildEnd("tool_use"),
  ],
  "a call that is never closed, and no end": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta('{"a":"')),
  ],
  "a call that is cut by max_tokens": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta('{"a":"')),
    blockStop(0),
    ...buildEnd("max_tokens"),
  ],
  "a call that is not closed at a stop reason of tool_use": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta('{"a":"')),
    blockStop(0),
    ...buildEnd("tool_use"),
  ],
  "a call with arguments that are garbage": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta("}{")),
    blockStop(0),
    ...buildEnd("tool_use"),
  ],
  "a call with arguments nested 50,000 deep": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta("[".repeat(50_000) + "]".repeat(50_000))),
    blockStop(0),
    ...buildEnd("tool_use"),
  ],
  "a call with 3 MB of backslashes that is never closed": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta(`{"a":"${"\\".repeat(3_000_000)}`)),
    ...buildEnd("tool_use"),
  ],
  "deltas without blocks": () => [
    start,
    ...repeat(1000, (index) => blockDelta(index, textDelta("x"))),
    ...buildEnd("end_turn"),
  ],
  "deltas of every type in blocks of every type": () => [
    start,
    ...[
      buildText(""),
      buildCall(0),
      { type: "thinking", thinking: "" },
      { type: "future" },
    ].flatMap((block, index) => [
      blockStart(index, block),
      blockDelta(index, textDelta("x")),
      blockDelta(index, inputDelta("{}")),
      blockDelta(index, { type: "thinking_delta", thinking: "r" }),
      blockDelta(index, { type: "signature_delta", signature: "s" }),
      blockDelta(index, { type: "citations_delta", citation: {} }),
      blockDelta(index, { type: "future_delta", x: 1 }),
      blockDelta(index, {}),
      blockStop(index),
    ]),
    ...buildEnd("tool_use"),
  ],
  "several signatures in a block": () => [
    start,
    blockStart(0, { type: "thinking", thinking: "", signature: "" }),
    ...repeat(5000, (index) => blockDelta(0, { type: "signature_delta", signature: `s${index}` })),
    blockStop(0),
    ...buildEnd("end_turn"),
  ],
  "odd indexes of blocks": () => [
    start,
    ...[-1, 1.5, 1e9, 2 ** 53, "x", null].flatMap((index) => [
      blockStart(index, buildText("")),
      blockDelta(index, textDelta("x")),
      blockStop(index),
    ]),
    ...buildEnd("end_turn"),
  ],
  "3,000 calls whose arguments come in turns": () => [
    start,
    ...repeat(3000, (index) => blockStart(index, buildCall(index, { input: {} }))),
    ...['{"a":', "1", "}"].flatMap((piece) =>
      repeat(3000, (index) => blockDelta(index, inputDelta(piece))),
    ),
    ...repeat(3000, blockStop),
    ...buildEnd("tool_use"),
  ],
  "100,000 deltas of a text": () => [
    start,
    blockStart(0, buildText("")),
    ...repeat(100_000, () => blockDelta(0, textDelta("x"))),
    blockStop(0),
    ...buildEnd("end_turn"),
  ],
  "100,000 deltas of a call": () => [
    start,
    blockStart(0, buildCall(0, { input: {} })),
    blockDelta(0, inputDelta('{"a":"')),
    ...repeat(100_000, () => blockDelta(0, inputDelta("x"))),
    blockDelta(0, inputDelta('"}')),
    blockStop(0),
    ...buildEnd("tool_use"),
  ],
  "100,000 pings": () => [
    start,
    ...repeat(100_000, () => ({ type: "ping" })),
    ...buildEnd("end_turn"),
  ],
  "100,000 message_delta": () => [
    start,
    ...repeat(100_000, () => ({
      type: "message_delta",
      delta: { stop_reason: null },
      usage: { output_tokens: 1 },
    })),
    ...buildEnd("end_turn"),
  ],
  "chunks of the Chat wire": () => [
    { object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "x" } }] },
  ],
  "an error and an end": () => [
    start,
    { type: "error", error: { type: "overloaded_error", message: "x" } },
    ...buildEnd("end_turn"),
  ],
  "errors without a message": () => [start, { type: "error" }],
  "an error that is not an object": () => [start, { type: "error", error: "x" }],
  "event types of 1 MB": () => [start, { type: "x".repeat(1_000_000) }, ...buildEnd("end_turn")],
};

const stopReasons = [
  "",
  "stop",
  "pause_turn",
  "refusal",
  "tool_use",
  "model_context_window_exceeded",
  "future",
  null,
  5,
];

/** Fields of the message, in a complete reply and at the start of a stream, that get every malformed value in turn. */
const fields: Record<string, (value: unknown) => JsonObject> = {
  "the message itself": (value) => value as JsonObject,
  ...Object.fromEntries(
    [
      "id",
      "type",
      "role",
      "model",
      "content",
      "stop_reason",
      "stop_sequence",
      "usage",
      "container",
      "error",
    ].map((name) => [name, (value: unknown) => buildDone({ [name]: value as JsonObject })]),
  ),
  "a block": (value) => buildDone({ content: [value as JsonObject, buildText("x")] }),
  "the text of a block": (value) => buildDone({ content: [buildText(value)] }),
  ...Object.fromEntries(
    ["id", "name", "input", "type"].map((name) => [
      `${name} of a call`,
      (value: unknown) => buildDone({ content: [buildCall(0, { [name]: value as string })] }),
    ]),
  ),
  ...Object.fromEntries(
    ["thinking", "signature"].map((name) => [
      `${name} of thinking`,
      (value: unknown) =>
        buildDone({
          content: [{ type: "thinking", thinking: "r", signature: "s", [name]: value as string }],
        }),
    ]),
  ),
  "numbers of the usage": (value) =>
    buildDone({
      usage: {
        input_tokens: value,
        output_tokens: value,
        cache_read_input_tokens: value,
        cache_creation_input_tokens: value,
        cache_creation: value,
        server_tool_use: value,
      } as JsonObject,
    }),
};

/** Events that get every malformed value in turn, between the start and the end of a stream. */
const events: Record<string, (value: unknown) => JsonObject> = {
  "an event": (value) => value as JsonObject,
  "a block": (value) => blockStart(0, value),
  "an index": (value) => blockStart(value, buildText("")),
  "a delta": (value) => blockDelta(0, value),
  "the text of a delta": (value) => blockDelta(0, { type: "text_delta", text: value }),
  "the arguments of a delta": (value) =>
    blockDelta(0, { type: "input_json_delta", partial_json: value }),
  "the delta of a message": (value) => ({ type: "message_delta", delta: value as JsonObject }),
  "the usage of a message delta": (value) => ({
    type: "message_delta",
    delta: { stop_reason: null },
    usage: value as JsonObject,
  }),
  "the type of an error": (value) => ({
    type: "error",
    error: { type: value as string, message: "x" },
  }),
};

function buildDone(overrides: JsonObject): JsonObject {
  return buildMessage({ stop_reason: "end_turn", content: [buildText("x")], ...overrides });
}

function* buildBlockEvents(blocks: readonly JsonObject[]): Generator<JsonObject> {
  yield start;
  for (const [index, block] of blocks.entries()) {
    yield blockStart(index, block);
    yield blockStop(index);
  }
  yield* buildEnd("tool_use");
}

/** Where the key stands in a reply that is not an error. */
const keyPositions: Record<string, (key: string) => JsonObject> = {
  id: (key) => ({ id: `msg_${key}` }),
  model: (key) => ({ model: `m for ${key}` }),
  usage: (key) => ({ usage: { input_tokens: 1, output_tokens: 1, service_tier: key } }),
  container: (key) => ({ container: { id: key, expires_at: "x" } }),
  stop_sequence: (key) => ({ stop_sequence: key }),
  future: (key) => ({ future_field: { [key]: [key, { deep: `Bearer ${key}` }] } }),
};

export const messagesModes: readonly UpstreamMode[] = [
  ...Object.entries(contents).map(([name, build]): UpstreamMode => ({
    name: `messages: ${name}`,
    wires: ["messages"],
    play: (reply) => {
      const content = build();
      if (!reply.stream)
        return reply.json(JSON.stringify(buildMessage({ content, stop_reason: "tool_use" })));
      return reply.events(joinEvents(formatMessageEvents(buildBlockEvents(content))));
    },
  })),
  ...Object.entries(streams).map(([name, build]): UpstreamMode => ({
    name: `messages: ${name}`,
    wires: ["messages"],
    forms: ["streamed"],
    play: (reply) => reply.events(joinEvents(formatMessageEvents(build()))),
  })),
  {
    name: "messages: every stop reason",
    wires: ["messages"],
    variants: stopReasons.length,
    play: (reply) => {
      const stopReason = stopReasons[reply.variant] ?? null;
      if (!reply.stream) return reply.json(JSON.stringify(buildDone({ stop_reason: stopReason })));
      return reply.events(formatMessageEvents([start, ...buildEnd(stopReason)]));
    },
  },
  ...Object.entries(fields).map(([name, build]): UpstreamMode => ({
    name: `messages: odd values for ${name}`,
    wires: ["messages"],
    variants: malformedCount,
    play: (reply) => {
      const text = withMalformed(reply.variant, build);
      if (!reply.stream) return reply.json(text);
      return reply.events([
        `event: message_start\ndata: {"type":"message_start","message":${text}}\n\n`,
        ...formatMessageEvents(buildEnd("end_turn")),
      ]);
    },
  })),
  ...Object.entries(events).map(([name, build]): UpstreamMode => ({
    name: `messages: odd values for ${name} of a stream`,
    wires: ["messages"],
    forms: ["streamed"],
    variants: malformedCount,
    play: (reply) =>
      reply.events([
        formatFirstEvent("messages"),
        ...formatMessageEvents([blockStart(0, buildText(""))]),
        `data: ${withMalformed(reply.variant, build)}\n\n`,
        ...formatMessageEvents(buildEnd("end_turn")),
      ]),
  })),
  ...Object.entries(keyPositions).map(([name, build]): UpstreamMode => ({
    name: `messages: the key in the field ${name} of a good reply`,
    wires: ["messages"],
    play: (reply) => {
      if (!reply.stream) return reply.json(JSON.stringify(buildDone(build(reply.key))));
      const message = buildMessage(build(reply.key));
      const { id: _, ...delta } = build(reply.key);
      return reply.events(
        formatMessageEvents([
          { type: "message_start", message, request_id: reply.key },
          { type: "ping", note: reply.key },
          blockStart(0, buildText("")),
          blockDelta(0, textDelta("x")),
          { ...blockStop(0), note: reply.key },
          {
            type: "message_delta",
            delta: { stop_reason: "end_turn", ...delta },
            usage: { output_tokens: 1, note: reply.key },
          },
          { ...stop, metrics: { key: reply.key } },
        ]),
      );
    },
  })),
  {
    name: "messages: the key in the headers of a good reply",
    wires: ["messages"],
    play: async (reply) => {
      await reply.head(200, {
        "content-type": reply.stream ? "text/event-stream" : "application/json",
        "request-id": reply.key,
        "anthropic-ratelimit-requests-remaining": reply.key,
        "anthropic-organization-id": reply.key,
        "retry-after": reply.key,
        "x-api-key": reply.key,
      });
      await reply.write(encodeGoodReply("messages", reply.stream));
      reply.end();
    },
  },
  {
    name: "messages: pings without end, and nothing else",
    wires: ["messages"],
    forms: ["streamed"],
    leaveAfterMs: 3000,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      await reply.write(formatFirstEvent("messages"));
      const deadline = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < deadline) {
        await reply.write('event: ping\ndata: {"type":"ping"}\n\n');
        await reply.pause(50);
      }
      reply.end();
    },
  },
];

/** Yields several events at once, as a network joins them. */
function* joinEvents(texts: Iterable<string>): Generator<string> {
  let text = "";
  for (const each of texts) {
    text += each;
    if (text.length < 30_000) continue;
    yield text;
    text = "";
  }
  yield text;
}
