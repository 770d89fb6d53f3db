import { CodeSpanTracker } from "../src/chat-upstream/code-span-tracker.ts";
import { LeakedCallExtractor } from "../src/chat-upstream/leaked-call-extractor.ts";
import { ThinkTagParser } from "../src/chat-upstream/think-tag-parser.ts";
import { isHistoryRejection } from "../src/repair-history.ts";
import { findExceededJsonLimit } from "../src/json-limits.ts";
import { estimateTokens } from "../src/mapping/estimate-tokens.ts";
import { unwrapErrorBody, parseUpstreamFailure } from "../src/mapping/upstream-error.ts";
import { SseDecoder } from "../src/sse/decoder.ts";
import { ArgumentsBuffer } from "../src/tools/arguments-buffer.ts";
import { CustomInputDecoder } from "../src/tools/custom-input-decoder.ts";
import { shortenToolName, toUpstreamToolName } from "../src/tools/tool-names.ts";
import { coerceParameter } from "../src/tools/coerce-parameter.ts";
import { splitIntoChunks, testLinearTime } from "../../../test/linear-time.ts";

/* Functions that parse text from providers, models and tools must take linear time. */

const tools = { names: new Set(["look"]), schemas: new Map() };

testLinearTime({
  "LeakedCallExtractor, in one string": (text) => readLeakedCalls([text]),
  "LeakedCallExtractor, in chunks": (text) => readLeakedCalls(splitIntoChunks(text)),
  "ThinkTagParser, in one string": (text) => readThinkTags([text], false),
  "ThinkTagParser, in chunks": (text) => readThinkTags(splitIntoChunks(text), false),
  "ThinkTagParser inside a think block, in chunks": (text) =>
    readThinkTags(splitIntoChunks(text), true),
  CodeSpanTracker: (text) => new CodeSpanTracker().push(text),
  "CustomInputDecoder, in chunks": (text) => readCustomInput(splitIntoChunks(`{"input":"${text}`)),
  "ArgumentsBuffer, in chunks": (text) => readArguments(splitIntoChunks(text)),
  "ArgumentsBuffer, in an object": (text) => readArguments(splitIntoChunks(`{"a":"${text}`)),
  "ArgumentsBuffer, after an object": (text) => readArguments(splitIntoChunks(`{"a":1}${text}`)),
  coerceParameter: (text) => [
    coerceParameter(text, "a", undefined),
    coerceParameter(`[${text}`, "a", undefined),
  ],
  parseUpstreamFailure: (text) =>
    parseUpstreamFailure({ message: text, code: text, metadata: { raw: text } }),
  unwrapErrorBody: (text) => unwrapErrorBody(text),
  isHistoryRejection: (text) => isHistoryRejection(text),
  "tool names": (text) => [shortenToolName(text), toUpstreamToolName(text, text)],
  estimateTokens: (text) => estimateTokens(text),
  findExceededJsonLimit: (text) => findExceededJsonLimit(text),
  "SseDecoder, in chunks": (text) => readSse(splitIntoChunks(text)),
});

function readLeakedCalls(deltas: readonly string[]): void {
  const extractor = new LeakedCallExtractor(["hermes", "qwen-xml", "kimi"], tools);
  for (const delta of deltas) extractor.push(delta, []);
  extractor.end([]);
}

function readThinkTags(deltas: readonly string[], startsInside: boolean): void {
  const parser = new ThinkTagParser(startsInside);
  for (const delta of deltas) parser.push(delta, []);
  parser.end([]);
}

function readCustomInput(deltas: readonly string[]): void {
  const input = new CustomInputDecoder();
  for (const delta of deltas) input.push(delta);
}

function readArguments(deltas: readonly string[]): void {
  const buffer = new ArgumentsBuffer(() => undefined);
  for (const delta of deltas) buffer.push(delta);
  buffer.peek();
  buffer.close();
}

function readSse(deltas: readonly string[]): void {
  const decoder = new SseDecoder({ utf8: new TextDecoder(), maxEventLength: 10_000_000 });
  for (const delta of deltas) decoder.push(Buffer.from(delta), []);
}
