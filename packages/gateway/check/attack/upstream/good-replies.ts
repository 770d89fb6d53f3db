import type { JsonObject } from "@deltawire/wire";
import { formatEvent } from "../../../test/scripted-upstream.ts";
import {
  buildReply,
  formatNamedEvent,
  formatStream,
  type ScriptedReply,
} from "../../../test/wire-replies.ts";
import type { Wire } from "../wires.ts";
import type { ReplyScript } from "./hostile-upstream.ts";

/** The text of a good reply. */
export const goodText = "unharmed";

const goodReply: ScriptedReply = { text: [goodText], usage: { input: 1, output: 1 } };

export const sendGoodReply: ReplyScript = async (reply) => {
  if (reply.stream) await reply.events(formatStream(reply.wire, goodReply));
  else await reply.json(JSON.stringify(buildReply(reply.wire, goodReply)));
};

/** Returns the bytes of a good reply, for modes that send it in a wrong way. */
export function encodeGoodReply(wire: Wire, stream: boolean): string {
  return stream
    ? formatStream(wire, goodReply).join("")
    : JSON.stringify(buildReply(wire, goodReply));
}

export function getGoodContentType(stream: boolean): string {
  return stream ? "text/event-stream" : "application/json";
}

export function buildChunk(choices: unknown, overrides: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: choices as JsonObject[],
    ...overrides,
  };
}

export function formatChatEvents(chunks: Iterable<unknown>): string[] {
  return [...chunks].map((chunk) => formatEvent(chunk));
}

/** Yields events of the Responses API with sequence numbers and names. */
export function* formatResponseEvents(events: Iterable<JsonObject>): Generator<string> {
  let number = 0;
  for (const event of events) {
    yield `event: ${event["type"] as string}\n${formatEvent({ sequence_number: number, ...event })}`;
    number += 1;
  }
}

export function buildResponse(overrides: JsonObject): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "m",
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
    ...overrides,
  };
}

/** Returns the first event of a stream with a text, which is not its end. */
export function formatFirstEvent(wire: Wire): string {
  if (wire === "chat") return formatEvent(buildChunk([{ index: 0, delta: { content: "Hi" } }]));
  if (wire === "messages")
    return formatMessageEvents([{ type: "message_start", message: buildMessage({}) }]).join("");
  const response = buildResponse({ status: "in_progress" });
  return [...formatResponseEvents([{ type: "response.created", response }])].join("");
}

export function formatMessageEvents(events: Iterable<JsonObject>): string[] {
  return [...events].map(formatNamedEvent);
}

/** Builds a message as it starts. */
export function buildMessage(overrides: JsonObject): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
    ...overrides,
  };
}
