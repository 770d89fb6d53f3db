import { isObject } from "../json.ts";
import { reportsError } from "../mapping/upstream-error.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";

/** A chunk without choices may still say something that only this provider knows. */
export function hasMoreThanUsage(chunk: ChatChunk): boolean {
  for (const field in chunk) if (!ofEnvelopes.test(field) && chunk[field] !== null) return true;
  return false;
}

const ofEnvelopes =
  /^(?:id|object|created|model|choices|usage|error|obfuscation|service_tier|system_fingerprint)$/;

export function withoutUsage(chunk: ChatChunk): ChatChunk {
  if (!isObject(chunk.usage)) return chunk;
  const { usage: _usage, ...rest } = chunk;
  return rest;
}

/**
 * Without what stands elsewhere (the finish and the usage at the end, the message so far in the deltas), and without an
 * error that reports none: some clients take any object for one.
 */
export function withoutMoved(choice: ChatChunkChoice): ChatChunkChoice {
  const { usage: _usage, finishReason: _finish, message: _soFar, error, ...rest } = choice;
  return reportsError(error) ? { ...rest, error } : rest;
}
