import type { JsonObject } from "@deltawire/wire";
import { event } from "../../../test/scripted-upstream.ts";
import { streamed, wholeReply, type Reply } from "../../../test/wire-replies.ts";
import type { Wire } from "../judge-reply.ts";
import type { Play } from "./hostile-upstream.ts";

/** The word in a good reply. */
export const goodWord = "unharmed";

const good: Reply = { text: [goodWord], usage: { input: 1, output: 1 } };

export const playGood: Play = async (reply) => {
  if (reply.stream) await reply.events(streamed(reply.wire, good));
  else await reply.json(JSON.stringify(wholeReply(reply.wire, good)));
};

/** A good reply as bytes, for modes that send it in a wrong way. */
export function goodBytes(wire: Wire, stream: boolean): string {
  return stream ? streamed(wire, good).join("") : JSON.stringify(wholeReply(wire, good));
}

export function goodType(stream: boolean): string {
  return stream ? "text/event-stream" : "application/json";
}

export function chunkWith(choices: unknown, more: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: choices as JsonObject[],
    ...more,
  };
}

export function chatEvents(chunks: Iterable<unknown>): string[] {
  return [...chunks].map((one) => event(one));
}

/** Events of the Responses wire, numbered and named. */
export function* responseEvents(events: Iterable<JsonObject>): Generator<string> {
  let number = 0;
  for (const one of events) {
    yield `event: ${one["type"] as string}\n${event({ sequence_number: number, ...one })}`;
    number += 1;
  }
}

export function responseWith(more: JsonObject): JsonObject {
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
    ...more,
  };
}
