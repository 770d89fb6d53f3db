import { isObject, type JsonObject, type JsonValue } from "../json.ts";

/**
 * Converts the log probability of a token from Chat to Responses, where no field is optional. Returns the same object if it
 * is complete.
 */
export function toResponseLogprob(logprob: JsonValue): JsonValue {
  if (!isObject(logprob)) return logprob;
  const alternatives = logprob["top_logprobs"];
  if (!Array.isArray(alternatives)) return { ...completeToken(logprob), top_logprobs: [] };
  const complete = alternatives.map((token) => (isObject(token) ? completeToken(token) : token));
  const isComplete = complete.every((token, index) => token === alternatives[index]);
  const withBytes = completeToken(logprob);
  return isComplete ? withBytes : { ...withBytes, top_logprobs: complete };
}

function completeToken(token: JsonObject): JsonObject {
  const { token: text, bytes } = token;
  if (Array.isArray(bytes) || typeof text !== "string") return token;
  return { ...token, bytes: encodeUtf8(text) };
}

/** The first byte of a character with one, two or three further bytes. */
const leadBytes = [0, 0xc0, 0xe0, 0xf0] as const;

/** Written out, because `TextEncoder` is not part of the language and this library has no platform. */
function encodeUtf8(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) {
      bytes.push(code);
      continue;
    }
    const tailLength = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes.push(leadBytes[tailLength] | (code >> (6 * tailLength)));
    for (let rest = tailLength - 1; rest >= 0; rest -= 1)
      bytes.push(0x80 | ((code >> (6 * rest)) & 0x3f));
  }
  return bytes;
}
