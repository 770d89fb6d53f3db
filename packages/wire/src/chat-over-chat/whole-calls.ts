import { ChatOverChat, type ChatOverChatOptions } from "./stream.ts";
import type { ChatInput } from "../chat-upstream/chunk-reader.ts";
import { WireError } from "../error.ts";
import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { empty } from "../machine.ts";
import type { ChatChunk, ChatOutput, ChatToolCallDelta, ErrorBody } from "../shapes/chat-reply.ts";
import { readFragment } from "../tools/fragment.ts";
import { shortHash } from "../tools/names.ts";

/** The chunks of a Chat stream, of whatever client library, and perhaps its sentinel. */
type Chunks = Iterable<object | "[DONE]">;
type AsyncChunks = AsyncIterable<object | "[DONE]">;

export type WholeToolCallsOptions = Partial<Omit<ChatOverChatOptions, "toolCalls">>;

/**
 * Passes a Chat stream on with its text as it comes and its calls whole: no fragment, but before a choice's finish one
 * chunk with all of its calls, each once, in `delta.tool_calls`. What must not run (the reply was cut, or the arguments
 * are no JSON) stands in `delta.incomplete_tool_calls` instead. A failed reply ends in a chunk with `error`.
 */
export function wholeToolCalls(
  chunks: Chunks,
  options?: WholeToolCallsOptions,
): Generator<ChatChunk, void, void>;
export function wholeToolCalls(
  chunks: AsyncChunks,
  options?: WholeToolCallsOptions,
): AsyncGenerator<ChatChunk, void, void>;
export function wholeToolCalls(
  chunks: Chunks | AsyncChunks,
  options: WholeToolCallsOptions = {},
): Generator<ChatChunk, void, void> | AsyncGenerator<ChatChunk, void, void> {
  return isAsync(chunks) ? passAsync(chunks, options) : pass(chunks, options);
}

/** A call that may run: its arguments are whole. A custom tool's input is `{ input }`. */
export interface CompleteToolCall {
  id: string;
  name: string;
  arguments: JsonObject;
}

/** A call that must not run, and its arguments as far as they came. */
export interface IncompleteToolCall {
  id: string;
  name: string;
  received: string;
}

export interface CompleteToolCallsOptions extends WholeToolCallsOptions {
  /** Is told of a call that must not run. Without it such a call is an error, thrown behind the whole ones. */
  onIncomplete?: (call: IncompleteToolCall) => void;
}

/**
 * Only the calls of a Chat stream (of its first choice), each once, when the reply has ended. Throws a WireError
 * `reply_failed` for a reply that failed or broke off: none of its calls may run.
 */
export function completeToolCalls(
  chunks: Chunks,
  options?: CompleteToolCallsOptions,
): Generator<CompleteToolCall, void, void>;
export function completeToolCalls(
  chunks: AsyncChunks,
  options?: CompleteToolCallsOptions,
): AsyncGenerator<CompleteToolCall, void, void>;
export function completeToolCalls(
  chunks: Chunks | AsyncChunks,
  options: CompleteToolCallsOptions = {},
): Generator<CompleteToolCall, void, void> | AsyncGenerator<CompleteToolCall, void, void> {
  return isAsync(chunks) ? completeAsync(chunks, options) : complete(chunks, options);
}

function isAsync(chunks: Chunks | AsyncChunks): chunks is AsyncChunks {
  return Symbol.asyncIterator in chunks;
}

function* pass(chunks: Chunks, options: WholeToolCallsOptions): Generator<ChatChunk, void, void> {
  const passage = new Passage(options);
  for (const chunk of chunks) yield* passage.push(chunk);
  yield* passage.end();
}

async function* passAsync(
  chunks: AsyncChunks,
  options: WholeToolCallsOptions,
): AsyncGenerator<ChatChunk, void, void> {
  const passage = new Passage(options);
  for await (const chunk of chunks) yield* passage.push(chunk);
  yield* passage.end();
}

function* complete(
  chunks: Chunks,
  options: CompleteToolCallsOptions,
): Generator<CompleteToolCall, void, void> {
  const unusable: IncompleteToolCall[] = [];
  for (const chunk of pass(chunks, options)) yield* callsOf(chunk, unusable);
  tell(unusable, options);
}

async function* completeAsync(
  chunks: AsyncChunks,
  options: CompleteToolCallsOptions,
): AsyncGenerator<CompleteToolCall, void, void> {
  const unusable: IncompleteToolCall[] = [];
  for await (const chunk of passAsync(chunks, options)) yield* callsOf(chunk, unusable);
  tell(unusable, options);
}

/** The machine and its ids. */
class Passage {
  readonly #machine: ChatOverChat;
  readonly #out: ChatOutput[] = [];
  #replyId: string | undefined;
  #ids = 0;

  constructor(options: WholeToolCallsOptions) {
    // A provider's id of the reply is another one in every turn, so ids made of it are too.
    const newId = (prefix: string) =>
      `${prefix}_${shortHash(`${this.#replyId} ${(this.#ids += 1)}`)}`;
    this.#machine = new ChatOverChat({ newId, createdAt: 0, ...options, toolCalls: "whole" });
  }

  push(chunk: object | "[DONE]"): ChatChunk[] {
    if (chunk !== "[DONE]") this.#replyId ??= nonEmptyString((chunk as ChatChunk).id);
    this.#machine.push(chunk as ChatInput, this.#out);
    return this.#take();
  }

  end(): ChatChunk[] {
    this.#machine.end("eof", this.#out);
    return this.#take();
  }

  #take(): ChatChunk[] {
    const chunks = this.#out.filter((output) => output !== "[DONE]");
    empty(this.#out);
    return chunks;
  }
}

function callsOf(chunk: ChatChunk, unusable: IncompleteToolCall[]): CompleteToolCall[] {
  if (isObject(chunk.error)) {
    const { message } = chunk.error as unknown as ErrorBody;
    throw new WireError("reply_failed", message, { cause: chunk.error });
  }
  const delta = chunk.choices?.find((choice) => choice.index === 0)?.delta;
  for (const call of listed(delta?.incomplete_tool_calls)) unusable.push(incomplete(call));
  return listed(delta?.tool_calls).flatMap((call) => {
    const { id = "", name = "", kind, arguments: text } = readFragment(call, new Set());
    const value = kind === "custom" ? { input: text } : parseJson(text);
    if (isObject(value)) return [{ id, name, arguments: value }];
    unusable.push(incomplete(call));
    return [];
  });
}

/** A provider may have a field of that name too. */
function listed(calls: unknown): ChatToolCallDelta[] {
  return Array.isArray(calls) ? calls.filter(isObject) : [];
}

function incomplete(call: ChatToolCallDelta): IncompleteToolCall {
  const { id = "", name = "", arguments: received } = readFragment(call, new Set());
  return { id, name, received };
}

function tell(unusable: IncompleteToolCall[], { onIncomplete }: CompleteToolCallsOptions): void {
  const [first] = unusable;
  if (onIncomplete !== undefined) for (const call of unusable) onIncomplete(call);
  else if (first !== undefined)
    throw new WireError(
      "call_not_whole",
      `${first.name}: call ${first.id} must not run, its arguments are no whole object or the reply was cut: ${first.received}`,
      { cause: first },
    );
}
