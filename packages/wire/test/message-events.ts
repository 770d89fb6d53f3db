import type { JsonObject, UpstreamMessageEvent } from "@deltawire/wire";

/* The events of a Messages upstream, for tests. */

export const messageUsage = {
  input_tokens: 11,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 1,
};

export function messageStart(fields: JsonObject = {}): UpstreamMessageEvent {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: messageUsage,
    ...fields,
  };
  return { type: "message_start", message };
}

export function blockStart(index: number, block: JsonObject): UpstreamMessageEvent {
  return { type: "content_block_start", index, content_block: block };
}

export function blockDelta(index: number, delta: JsonObject): UpstreamMessageEvent {
  return { type: "content_block_delta", index, delta };
}

export function blockStop(index: number): UpstreamMessageEvent {
  return { type: "content_block_stop", index };
}

export function messageEnd(stopReason: string | null, usage?: JsonObject): UpstreamMessageEvent[] {
  return [
    {
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: usage ?? { output_tokens: 7 },
    },
    { type: "message_stop" },
  ];
}

export function textBlock(index: number, ...texts: string[]): UpstreamMessageEvent[] {
  return [
    blockStart(index, { type: "text", text: "" }),
    ...texts.map((text) => blockDelta(index, { type: "text_delta", text })),
    blockStop(index),
  ];
}

export function thinkingBlock(
  index: number,
  text: string,
  signature: string,
): UpstreamMessageEvent[] {
  return [
    blockStart(index, { type: "thinking", thinking: "", signature: "" }),
    blockDelta(index, { type: "thinking_delta", thinking: text }),
    ...(signature === "" ? [] : [blockDelta(index, { type: "signature_delta", signature })]),
    blockStop(index),
  ];
}

export function callBlock(
  index: number,
  id: string,
  name: string,
  ...pieces: string[]
): UpstreamMessageEvent[] {
  return [
    blockStart(index, { type: "tool_use", id, name, input: {} }),
    ...pieces.map((piece) => blockDelta(index, { type: "input_json_delta", partial_json: piece })),
    blockStop(index),
  ];
}

export function encodeEvents(events: readonly UpstreamMessageEvent[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
