import type { MessageStopReason } from "../shapes/messages-reply.ts";
import { parseFinishReason, type Finish } from "./finish-reason.ts";

/**
 * Stop reasons of the Messages API. `pause_turn` asks to send the reply back, which only the caller can do, so the reply is
 * incomplete.
 */
const finishKinds: Record<string, Exclude<Finish["kind"], "failed">> = {
  end_turn: "stop",
  stop_sequence: "stop",
  compaction: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  pause_turn: "length",
  refusal: "content_filter",
};

/** Returns undefined for an unknown stop reason. Compatible servers also send those of Chat. */
export function parseStopReason(reason: string): Finish | undefined {
  const kind = Object.hasOwn(finishKinds, reason) ? finishKinds[reason] : undefined;
  return kind === undefined ? parseFinishReason(reason) : { kind };
}

/** Returns the stop reason for a reply that did not fail. */
export function toStopReason(kind: Exclude<Finish["kind"], "failed">): MessageStopReason {
  return stopReasons[kind];
}

const stopReasons = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
} as const satisfies Record<Exclude<Finish["kind"], "failed">, MessageStopReason>;
