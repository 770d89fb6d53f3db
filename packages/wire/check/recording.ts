import { isDeepStrictEqual } from "node:util";
import type {
  ChatStreamEvent,
  MessageEvent,
  ResponseEvent,
  UpstreamMessageEvent,
  UpstreamResponseEvent,
} from "@deltawire/wire";
import { findChatSequenceFaults } from "./chat-sequence.ts";
import { findMessageSequenceFaults } from "./message-sequence.ts";
import {
  splitIntoBytes,
  splitAt,
  playChatToMessages,
  playMessagesToChat,
  playMessagesToMessages,
  playMessagesToResponses,
  playResponsesToChat,
  playResponsesToMessages,
  playResponsesToResponses,
  playChatToChat,
  playChatToResponses,
} from "./play.ts";
import {
  findMessagesEntryFaults,
  findMessagesOutputFaults,
  isMessagesKind,
} from "./messages-recording.ts";
import { findResponseSequenceFaults } from "./response-sequence.ts";
import {
  findResponsesEntryFaults,
  getExpectedResponsesFailure,
  findResponsesOutputFaults,
} from "./responses-recording.ts";
import { findDifferences, parseJsonOrText } from "./content-differences.ts";
import {
  readChatEvents,
  readMessageEvents,
  readResponseEvents,
  toMessageContent,
  type ReplyContent,
  type ReplyCall,
} from "./reply-content.ts";

/** The fields of an entry of `index.json` that this check uses. */
export interface RecordingEntry {
  file: string;
  kind: string;
  quirks?: string[];
  done_sent?: boolean;
  net_chunks?: number[];
  expected: Record<string, unknown>;
}

interface RecordedCall {
  id?: string | null;
  name: string;
  arguments: string | null;
  kind?: string;
}

/** The content of the recorded reply, with its deltas joined. */
interface RecordedReply {
  text: string;
  reasoning: string;
  refusal: string | null;
  tool_calls: RecordedCall[];
  finish_reason: string | null;
  finish_reasons_sent?: string[];
  order?: string;
  usage: Record<string, unknown> | null;
  think_split?: { text: string; reasoning: string };
  errors?: unknown[];
  annotations?: unknown[];
  legacy_function_call?: { name: string; arguments: string };
  audio_transcript?: string;
  choices?: (RecordedReply & { index: number })[];
}

/** An entry with any other field fails, so that no expectation is ignored. */
const knownFields = new Set([
  "text",
  "reasoning",
  "refusal",
  "tool_calls",
  "finish_reason",
  "finish_reasons_sent",
  "has_tool_calls",
  "order",
  "usage",
  "think_split",
  "errors",
  "annotations",
  "legacy_function_call",
  "audio_transcript",
  "choices",
]);

const requiredFields = ["text", "reasoning", "tool_calls", "finish_reason", "usage"];

/** Translates one recording with several splits of its bytes and returns the differences from the index. */
export function findRecordingFaults(entry: RecordingEntry, bytes: Uint8Array): string[] {
  const entryErrors = findEntryFaults(entry);
  if (entryErrors.length > 0) return entryErrors;
  const body = withSentinel(entry, bytes);
  const splits: [string, Uint8Array[]][] =
    entry.kind === "chat-json" || entry.kind === "whole"
      ? [["complete", [bytes]]]
      : [
          ["in one read", [body]],
          ["byte by byte", splitIntoBytes(body)],
        ];
  if (entry.net_chunks !== undefined)
    splits.push(["in the recorded reads", splitAt(body, entry.net_chunks)]);
  const faults: string[] = [];
  let first: unknown;
  for (const [splitName, reads] of splits) {
    const output = playRecording(entry, reads);
    faults.push(...findOutputFaults(entry, output).map((fault) => `${splitName}: ${fault}`));
    if (first === undefined) first = output;
    else if (!isDeepStrictEqual(first, output))
      faults.push(`${splitName}: events differ from those of one read`);
  }
  return faults;
}

/** The events for a client of each wire. */
export interface RecordingOutput {
  responses: readonly (ResponseEvent | UpstreamResponseEvent)[];
  chat: readonly ChatStreamEvent[];
  messages: readonly (MessageEvent | UpstreamMessageEvent)[];
}

/** Returns the fields of an index entry that are missing or not supported by this check. */
export function findEntryFaults({ kind, expected }: RecordingEntry): string[] {
  if (typeof expected !== "object") return ["expected: missing"];
  if (kind === "responses-stream") return findResponsesEntryFaults(expected);
  if (isMessagesKind(kind)) return findMessagesEntryFaults(expected);
  if (kind !== "chat-stream" && kind !== "chat-json")
    return [`kind ${kind}: not supported by this check`];
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  if (unknown.length > 0)
    return [`expected.${unknown.join(", expected.")}: not supported by this check`];
  const missing = requiredFields.filter((field) => !(field in expected));
  return missing.length > 0 ? [`expected.${missing.join(", expected.")}: missing`] : [];
}

/** Compares the output for one or both wires with the index and returns the differences. */
export function findOutputFaults(
  entry: RecordingEntry,
  { responses, chat, messages }: Partial<RecordingOutput>,
): string[] {
  if (isMessagesKind(entry.kind))
    return findMessagesOutputFaults(entry.expected, { responses, chat, messages });
  if (entry.kind === "responses-stream") {
    const forwardedEvents = responses as readonly UpstreamResponseEvent[] | undefined;
    return findResponsesOutputFaults(
      entry.expected,
      forwardedEvents,
      chat,
      messages as readonly MessageEvent[] | undefined,
    );
  }
  const recorded = entry.expected as unknown as RecordedReply;
  const hasProperEnd = entry.done_sent !== false || !hasNoSentinel(entry);
  const faults: string[] = [];
  const add = (where: string, found: string[]): void =>
    void faults.push(...found.map((fault) => `${where}: ${fault}`));
  if (responses !== undefined) {
    const events = responses as readonly ResponseEvent[];
    add("Responses", findResponseSequenceFaults(events));
    add(
      "Responses",
      findDifferences(buildExpectedContent(recorded, hasProperEnd), readResponseEvents(events)),
    );
  }
  if (messages !== undefined) {
    add("Messages", findMessageSequenceFaults(messages));
    const expected = toMessageContent(buildExpectedContent(recorded, hasProperEnd));
    const content = readMessageEvents(messages as readonly MessageEvent[]);
    add("Messages", findDifferences(expected, content, { isMessage: true }));
  }
  if (chat === undefined) return faults;
  add("Chat", findChatSequenceFaults(chat));
  for (const choice of recorded.choices ?? [{ ...recorded, index: 0 }]) {
    const sent = { ...choice, usage: recorded.usage };
    const content = readChatEvents(chat, choice.index);
    add(
      `Chat, choice ${choice.index}`,
      findDifferences(buildExpectedContent(sent, hasProperEnd), content),
    );
  }
  return faults;
}

/** Returns the expected error text, or undefined if the recording ends without a failure. */
export function getExpectedFailure(entry: RecordingEntry): string | undefined {
  if (entry.kind === "responses-stream") return getExpectedResponsesFailure(entry.expected);
  const hasProperEnd = entry.done_sent !== false || !hasNoSentinel(entry);
  return buildExpectedContent(entry.expected as unknown as RecordedReply, hasProperEnd).error;
}

function playRecording({ kind }: RecordingEntry, reads: Uint8Array[]): RecordingOutput {
  if (kind === "responses-stream")
    return {
      responses: playResponsesToResponses(reads).out,
      chat: playResponsesToChat(reads).out,
      messages: playResponsesToMessages(reads).out,
    };
  const expect = kind === "chat-json" || kind === "whole" ? "complete" : "stream";
  if (isMessagesKind(kind))
    return {
      responses: playMessagesToResponses(reads, { expect }).out,
      chat: playMessagesToChat(reads, { expect }).out,
      messages: playMessagesToMessages(reads, { expect }).out,
    };
  return {
    responses: playChatToResponses(reads, { expect }).out,
    chat: playChatToChat(reads, { expect }).out,
    messages: playChatToMessages(reads, { expect }).out,
  };
}

function hasNoSentinel(entry: RecordingEntry): boolean {
  return entry.quirks?.includes("no_done") ?? false;
}

/** Restores a `[DONE]` that the recorder dropped (see the README of the recordings). */
export function withSentinel(entry: RecordingEntry, bytes: Uint8Array): Uint8Array {
  if (entry.kind !== "chat-stream" || entry.done_sent !== false || hasNoSentinel(entry))
    return bytes;
  return new Uint8Array([...bytes, ...new TextEncoder().encode("\n\ndata: [DONE]\n\n")]);
}

/** Returns the expected output for a recorded reply. */
function buildExpectedContent(
  sent: RecordedReply,
  hasProperEnd: boolean,
): ReplyContent & { finish: string } {
  const { text, reasoning, hasThinkTags } = splitThinkTags(sent);
  const calls = buildExpectedCalls(sent);
  const finish = resolveExpectedFinish(sent, calls.length > 0);
  const failed =
    (sent.errors !== undefined && finish !== "length") ||
    (!hasProperEnd && sent.finish_reason === null);
  const status = failed
    ? "failed"
    : finish === "length" || finish === "content_filter"
      ? "incomplete"
      : "completed";
  for (const call of calls) if (status !== "completed") call.isComplete = false;
  const usage = sent.usage;
  return {
    status,
    finish,
    incompleteReason:
      status !== "incomplete" ? undefined : finish === "length" ? "max_output_tokens" : finish,
    error: failed
      ? ((sent.errors?.[0] as { message?: string } | undefined)?.message ?? "")
      : undefined,
    text,
    reasoning,
    refusal: sent.refusal ?? "",
    transcript: sent.audio_transcript ?? "",
    annotations: sent.annotations?.length ?? 0,
    calls,
    order: buildExpectedOrder(sent, hasThinkTags, text),
    usage:
      usage === null
        ? undefined
        : {
            input: Number(usage["prompt_tokens"]),
            output: Number(usage["completion_tokens"]),
            total: Number(usage["total_tokens"]),
            cached: 0,
            reasoning: 0,
          },
  };
}

/**
 * Separates the reasoning in leading think tags from the text. The index of a reply that is not streamed has no
 * `think_split`, so its leading blocks are extracted here.
 */
function splitThinkTags(sent: RecordedReply): {
  text: string;
  reasoning: string;
  hasThinkTags: boolean;
} {
  if (sent.think_split !== undefined) return { ...sent.think_split, hasThinkTags: true };
  let { text, reasoning } = sent;
  let hasThinkTags = false;
  for (;;) {
    const block = /^(\s*)<(think|reasoning)>([\s\S]*?)<\/\2>/.exec(text);
    if (block === null) return { text, reasoning, hasThinkTags };
    text = (block[1] ?? "") + text.slice(block[0].length);
    reasoning += block[3] ?? "";
    hasThinkTags = true;
  }
}

function buildExpectedCalls(sent: RecordedReply): ReplyCall[] {
  const legacy = sent.legacy_function_call;
  const calls = legacy === undefined ? sent.tool_calls : [legacy];
  return calls.flatMap((call: RecordedCall): ReplyCall[] => {
    const base = { id: call.id ?? "", name: call.name, namespace: undefined };
    const text = call.arguments ?? "";
    if (call.kind === "custom")
      return [{ ...base, arguments: text, kind: "custom", isComplete: true }];
    const values = text.trim() === "" ? ["{}"] : text.split(/(?<=\})(?=\{)/);
    return [...new Set(values)].map((value, index) => ({
      ...base,
      id: index === 0 ? base.id : "",
      arguments: value,
      kind: "function",
      isComplete: parseJsonOrText(value) !== undefined,
    }));
  });
}

/** Returns the finish reason that a client must receive, given all finish reasons that were sent. */
function resolveExpectedFinish(sent: RecordedReply, hasCalls: boolean): string {
  const finishReasons = sent.finish_reasons_sent ?? [sent.finish_reason ?? ""];
  if (finishReasons.includes("length")) return "length";
  if (finishReasons.includes("content_filter") || finishReasons.includes("sensitive"))
    return "content_filter";
  return hasCalls ? "tool_calls" : "stop";
}

/** Returns the order in which a client must receive the content. A refusal or a transcript is a message, too. */
function buildExpectedOrder(
  sent: RecordedReply,
  hasThinkTags: boolean,
  text: string,
): string | undefined {
  if (sent.order === undefined) return undefined;
  let { order } = sent;
  if (sent.refusal || sent.audio_transcript) order += "t";
  if (sent.legacy_function_call) order += "c";
  if (hasThinkTags) return order.replace("t", text === "" ? "r" : "rt");
  if (order.startsWith("tr") && /^\s/.test(text)) order = order.slice(1);
  return order;
}
