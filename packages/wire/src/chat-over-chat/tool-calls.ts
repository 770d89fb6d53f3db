import { ChatOverChat, type ChatOverChatOptions } from "./stream.ts";
import type { UpstreamChatEvent } from "../chat-upstream/chunk-reader.ts";
import { WireError } from "../error.ts";
import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { clearArray } from "../stream-machine.ts";
import type {
  ChatChunk,
  ChatStreamEvent,
  ChatToolCallDelta,
  ErrorBody,
} from "../shapes/chat-reply.ts";
import { parseToolCallFragment } from "../tools/tool-call-fragment.ts";
import { shortHash } from "../short-hash.ts";

/** The chunks of a Chat stream from any client library, optionally with `[DONE]`. */
type ChunkSource = Iterable<object | "[DONE]">;
type AsyncChunkSource = AsyncIterable<object | "[DONE]">;

export type BufferToolCallsOptions = Partial<Omit<ChatOverChatOptions, "toolCalls">>;

/**
 * Passes a Chat stream through with streamed text and complete calls: one chunk before the finish of a choice has all
 * its calls, each once, in `delta.tool_calls`. Calls that must not run (the reply was truncated, or the arguments are
 * not JSON) are in `delta.incomplete_tool_calls` instead. A failed reply ends with an `error` chunk.
 */
export function bufferToolCalls(
  chunks: ChunkSource,
  options?: BufferToolCallsOptions,
): Generator<ChatChunk, void, void>;
export function bufferToolCalls(
  chunks: AsyncChunkSource,
  options?: BufferToolCallsOptions,
): AsyncGenerator<ChatChunk, void, void>;
export function bufferToolCalls(
  chunks: ChunkSource | AsyncChunkSource,
  options: BufferToolCallsOptions = {},
): Generator<ChatChunk, void, void> | AsyncGenerator<ChatChunk, void, void> {
  return isAsyncSource(chunks) ? bufferAsync(chunks, options) : bufferSync(chunks, options);
}

/** A call with complete arguments, which may run. For a custom tool they are `{ input }`. */
export interface CompleteToolCall {
  id: string;
  name: string;
  arguments: JsonObject;
}

/** A call that must not run, with the arguments received so far. */
export interface IncompleteToolCall {
  id: string;
  name: string;
  rawArguments: string;
}

export interface CollectToolCallsOptions extends BufferToolCallsOptions {
  /** Called for each call that must not run. Without it, `incomplete_tool_call` is thrown after the complete calls. */
  onIncomplete?: (call: IncompleteToolCall) => void;
}

/**
 * Yields the tool calls of a Chat stream (of its first choice), each once, after the reply has ended. Throws a
 * WireError `reply_failed` for a reply that failed or was interrupted: none of its calls may run.
 */
export function collectToolCalls(
  chunks: ChunkSource,
  options?: CollectToolCallsOptions,
): Generator<CompleteToolCall, void, void>;
export function collectToolCalls(
  chunks: AsyncChunkSource,
  options?: CollectToolCallsOptions,
): AsyncGenerator<CompleteToolCall, void, void>;
export function collectToolCalls(
  chunks: ChunkSource | AsyncChunkSource,
  options: CollectToolCallsOptions = {},
): Generator<CompleteToolCall, void, void> | AsyncGenerator<CompleteToolCall, void, void> {
  return isAsyncSource(chunks) ? collectAsync(chunks, options) : collectSync(chunks, options);
}

function isAsyncSource(chunks: ChunkSource | AsyncChunkSource): chunks is AsyncChunkSource {
  return Symbol.asyncIterator in chunks;
}

function* bufferSync(
  chunks: ChunkSource,
  options: BufferToolCallsOptions,
): Generator<ChatChunk, void, void> {
  const buffer = new ToolCallBuffer(options);
  for (const chunk of chunks) yield* buffer.push(chunk);
  yield* buffer.end();
}

async function* bufferAsync(
  chunks: AsyncChunkSource,
  options: BufferToolCallsOptions,
): AsyncGenerator<ChatChunk, void, void> {
  const buffer = new ToolCallBuffer(options);
  for await (const chunk of chunks) yield* buffer.push(chunk);
  yield* buffer.end();
}

function* collectSync(
  chunks: ChunkSource,
  options: CollectToolCallsOptions,
): Generator<CompleteToolCall, void, void> {
  const incompleteCalls: IncompleteToolCall[] = [];
  for (const chunk of bufferSync(chunks, options)) yield* readCompleteCalls(chunk, incompleteCalls);
  reportIncompleteCalls(incompleteCalls, options);
}

async function* collectAsync(
  chunks: AsyncChunkSource,
  options: CollectToolCallsOptions,
): AsyncGenerator<CompleteToolCall, void, void> {
  const incompleteCalls: IncompleteToolCall[] = [];
  for await (const chunk of bufferAsync(chunks, options))
    yield* readCompleteCalls(chunk, incompleteCalls);
  reportIncompleteCalls(incompleteCalls, options);
}

/** The translator and its id generator. */
class ToolCallBuffer {
  readonly #machine: ChatOverChat;
  readonly #out: ChatStreamEvent[] = [];
  #replyId: string | undefined;
  #idCount = 0;

  constructor(options: BufferToolCallsOptions) {
    // The provider's reply id is unique per turn, so ids derived from it are unique too.
    const newId = (prefix: string) =>
      `${prefix}_${shortHash(`${this.#replyId} ${(this.#idCount += 1)}`)}`;
    this.#machine = new ChatOverChat({ newId, createdAt: 0, ...options, toolCalls: "complete" });
  }

  push(chunk: object | "[DONE]"): ChatChunk[] {
    if (chunk !== "[DONE]") this.#replyId ??= nonEmptyString((chunk as ChatChunk).id);
    this.#machine.push(chunk as UpstreamChatEvent, this.#out);
    return this.#drain();
  }

  end(): ChatChunk[] {
    this.#machine.end("eof", this.#out);
    return this.#drain();
  }

  #drain(): ChatChunk[] {
    const chunks = this.#out.filter((output) => output !== "[DONE]");
    clearArray(this.#out);
    return chunks;
  }
}

function readCompleteCalls(
  chunk: ChatChunk,
  incompleteCalls: IncompleteToolCall[],
): CompleteToolCall[] {
  if (isObject(chunk.error)) {
    const { message } = chunk.error as unknown as ErrorBody;
    throw new WireError("reply_failed", message, { cause: chunk.error });
  }
  const delta = chunk.choices?.find((choice) => choice.index === 0)?.delta;
  for (const call of toCallList(delta?.incomplete_tool_calls))
    incompleteCalls.push(toIncompleteCall(call));
  return toCallList(delta?.tool_calls).flatMap((call) => {
    const { id = "", name = "", kind, arguments: text } = parseToolCallFragment(call, new Set());
    const value = kind === "custom" ? { input: text } : parseJson(text);
    if (isObject(value)) return [{ id, name, arguments: value }];
    incompleteCalls.push(toIncompleteCall(call));
    return [];
  });
}

/** Returns [] unless the value is a list: a provider may use a field of that name too. */
function toCallList(calls: unknown): ChatToolCallDelta[] {
  return Array.isArray(calls) ? calls.filter(isObject) : [];
}

function toIncompleteCall(call: ChatToolCallDelta): IncompleteToolCall {
  const { id = "", name = "", arguments: rawArguments } = parseToolCallFragment(call, new Set());
  return { id, name, rawArguments };
}

function reportIncompleteCalls(
  incompleteCalls: IncompleteToolCall[],
  { onIncomplete }: CollectToolCallsOptions,
): void {
  const [first] = incompleteCalls;
  if (onIncomplete !== undefined) for (const call of incompleteCalls) onIncomplete(call);
  else if (first !== undefined)
    throw new WireError(
      "incomplete_tool_call",
      `${first.name}: call ${first.id} must not run, because its arguments are not a JSON object or the reply was truncated: ${first.rawArguments}`,
      { cause: first },
    );
}
