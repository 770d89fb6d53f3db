import { isObject } from "../json.ts";
import { isErrorValue } from "../mapping/upstream-error.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";

/** True if a chunk without choices has provider-specific fields. */
export function hasProviderFields(chunk: ChatChunk): boolean {
  for (const field in chunk)
    if (!envelopeFieldPattern.test(field) && chunk[field] !== null) return true;
  return false;
}

const envelopeFieldPattern =
  /^(?:id|object|created|model|choices|usage|error|obfuscation|service_tier|system_fingerprint)$/;

export function withoutChunkUsage(chunk: ChatChunk): ChatChunk {
  if (!isObject(chunk.usage)) return chunk;
  const { usage: _usage, ...rest } = chunk;
  return rest;
}

/**
 * Removes fields that are sent elsewhere (finish and usage at the end, the message in deltas), and empty error objects,
 * which some clients treat as errors.
 */
export function withoutRelocatedFields(choice: ChatChunkChoice): ChatChunkChoice {
  const { usage: _usage, finishReason: _finish, message: _message, error, ...rest } = choice;
  return isErrorValue(error) ? { ...rest, error } : rest;
}
