import { CodeSpans } from "../src/chat-upstream/code-spans.ts";
import { LeakedCalls } from "../src/chat-upstream/leaked-calls.ts";
import { ThinkTags } from "../src/chat-upstream/think-tags.ts";
import { refusesHistory } from "../src/history.ts";
import { findExceededJsonLimit } from "../src/json-limits.ts";
import { estimateTokens } from "../src/mapping/estimate-tokens.ts";
import { errorObject, upstreamFailure } from "../src/mapping/upstream-error.ts";
import { SseDecoder } from "../src/sse/decoder.ts";
import { ArgumentsBuffer } from "../src/tools/arguments.ts";
import { CustomInput } from "../src/tools/custom-input.ts";
import { shortName, upstreamName } from "../src/tools/names.ts";
import { typedText } from "../src/tools/typed-text.ts";
import { pieces, testTextCosts } from "../../../test/text-costs.ts";

/* Functions that read text of providers, models and tools. */

const tools = { names: new Set(["look"]), schemas: new Map() };

testTextCosts({
  "LeakedCalls, in one piece": (text) => readLeakedCalls([text]),
  "LeakedCalls, in pieces": (text) => readLeakedCalls(pieces(text)),
  "ThinkTags, in one piece": (text) => readThinkTags([text], false),
  "ThinkTags, in pieces": (text) => readThinkTags(pieces(text), false),
  "ThinkTags from inside, in pieces": (text) => readThinkTags(pieces(text), true),
  CodeSpans: (text) => new CodeSpans().feed(text),
  "CustomInput, in pieces": (text) => readCustomInput(pieces(`{"input":"${text}`)),
  "ArgumentsBuffer, in pieces": (text) => readArguments(pieces(text)),
  "ArgumentsBuffer, in an object": (text) => readArguments(pieces(`{"a":"${text}`)),
  "ArgumentsBuffer, behind an object": (text) => readArguments(pieces(`{"a":1}${text}`)),
  typedText: (text) => [typedText(text, "a", undefined), typedText(`[${text}`, "a", undefined)],
  upstreamFailure: (text) =>
    upstreamFailure({ message: text, code: text, metadata: { raw: text } }),
  errorObject: (text) => errorObject(text),
  refusesHistory: (text) => refusesHistory(text),
  "names of tools": (text) => [shortName(text), upstreamName(text, text)],
  estimateTokens: (text) => estimateTokens(text),
  findExceededJsonLimit: (text) => findExceededJsonLimit(text),
  "SseDecoder, in pieces": (text) => readSse(pieces(text)),
});

function readLeakedCalls(deltas: readonly string[]): void {
  const calls = new LeakedCalls(["hermes", "qwen-xml", "kimi"], tools);
  for (const delta of deltas) calls.push(delta, []);
  calls.end([]);
}

function readThinkTags(deltas: readonly string[], startsInside: boolean): void {
  const tags = new ThinkTags(startsInside);
  for (const delta of deltas) tags.push(delta, []);
  tags.end([]);
}

function readCustomInput(deltas: readonly string[]): void {
  const input = new CustomInput();
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
