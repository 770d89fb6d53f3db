import { isDeepStrictEqual } from "node:util";
import {
  collectMessage,
  type ChatStreamEvent,
  type MessageEvent,
  type ResponseEvent,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { findChatSequenceFaults } from "./chat-sequence.ts";
import { findDifferences } from "./content-differences.ts";
import { findMessageSequenceFaults } from "./message-sequence.ts";
import { readChatEvents, readResponseEvents, type ReplyContent } from "./reply-content.ts";
import { findResponseSequenceFaults } from "./response-sequence.ts";

/** A content block of a recorded Messages reply, with its deltas joined. */
interface RecordedBlock {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
  /** The arguments of a call that was cut. */
  input_raw?: string;
  citations?: number;
}

interface RecordedMessage {
  blocks: RecordedBlock[];
  stop_reason: string | null;
  usage: Record<string, number | null> | null;
  error: { message: string } | null;
  ended: boolean;
}

const requiredFields = ["blocks", "stop_reason", "usage", "error", "ended"];
const knownFields = new Set([...requiredFields, "stop_sequence", "stop_details"]);

/** True for the kinds of a catalogue of the Messages API. */
export function isMessagesKind(kind: string): boolean {
  return kind === "stream" || kind === "whole";
}

/** Returns the fields of an index entry that are missing or not supported by this check. */
export function findMessagesEntryFaults(expected: Record<string, unknown>): string[] {
  const unknown = Object.keys(expected).filter((field) => !knownFields.has(field));
  if (unknown.length > 0)
    return [`expected.${unknown.join(", expected.")}: not supported by this check`];
  const missing = requiredFields.filter((field) => !(field in expected));
  return missing.length > 0 ? [`expected.${missing.join(", expected.")}: missing`] : [];
}

/** The events of a Messages upstream for clients of the other wires. */
export interface MessagesOutput {
  responses?: readonly (ResponseEvent | UpstreamResponseEvent)[] | undefined;
  chat?: readonly ChatStreamEvent[] | undefined;
  messages?: readonly (MessageEvent | UpstreamMessageEvent)[] | undefined;
}

/** Compares the output for one or more wires with the index and returns the differences. */
export function findMessagesOutputFaults(
  recorded: Record<string, unknown>,
  { responses, chat, messages }: MessagesOutput,
): string[] {
  const expected = buildExpectedContent(recorded as unknown as RecordedMessage);
  const faults: string[] = [];
  const add = (where: string, found: string[]): void =>
    void faults.push(...found.map((fault) => `${where}: ${fault}`));
  if (responses !== undefined) {
    const events = responses as readonly ResponseEvent[];
    add("Responses", findResponseSequenceFaults(events));
    add("Responses", findDifferences(expected, readResponseEvents(events)));
  }
  if (chat !== undefined) {
    add("Chat", findChatSequenceFaults(chat));
    add("Chat", findDifferences(expected, readChatEvents(chat, 0)));
  }
  if (messages !== undefined) {
    add("Messages", findMessageSequenceFaults(messages, { isForwarded: true }));
    add("Messages", findForwardingFaults(recorded as unknown as RecordedMessage, messages));
  }
  return faults;
}

/** Compares what a client of the same wire receives with what the upstream sent. */
function findForwardingFaults(
  recorded: RecordedMessage,
  events: readonly (MessageEvent | UpstreamMessageEvent)[],
): string[] {
  const faults: string[] = [];
  const compare = (field: string, expected: unknown, actual: unknown): void => {
    if (!isDeepStrictEqual(expected, actual))
      faults.push(`${field}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  };
  const last = events.at(-1);
  const isFailed = recorded.error !== null;
  compare("failed", isFailed, last?.type === "error");
  if (isFailed) {
    const message = toExpectedError(recorded.error);
    if (!JSON.stringify(last).includes(JSON.stringify(message).slice(1, -1)))
      faults.push(`error: expected ${message}, got ${JSON.stringify(last)}`);
    return faults;
  }
  const collected = collectMessage(events as MessageEvent[]);
  if (collected?.ok !== true) return ["no message"];
  const { content, stop_reason, usage } = collected.message;
  // Empty text blocks are dropped, and a cut call is not complete.
  const expectedBlocks = recorded.blocks.filter(
    ({ type, text, input_raw: cut }) => !(type === "text" && text === "") && cut === undefined,
  );
  const toComparable = ({ type, text, thinking, id, name, input }: RecordedBlock): unknown[] => {
    if (type === "text") return [type, text];
    if (type === "thinking") return [type, thinking];
    return type === "tool_use" ? [type, id, name, input ?? {}] : [type];
  };
  compare(
    "content",
    expectedBlocks.map(toComparable),
    (content as unknown as RecordedBlock[]).map(toComparable),
  );
  const hasCalls = recorded.blocks.some(({ type }) => type === "tool_use");
  const isCorrected = hasCalls && recorded.stop_reason === "end_turn";
  compare("stop_reason", isCorrected ? "tool_use" : recorded.stop_reason, stop_reason);
  for (const name of ["input_tokens", "output_tokens", "cache_read_input_tokens"] as const)
    if (recorded.usage?.[name] !== undefined && recorded.usage[name] !== null)
      compare(name, recorded.usage[name], usage[name]);
  return faults;
}

type Finish = "stop" | "tool_calls" | "length" | "content_filter";

/** Returns what a client of another wire must receive. */
function buildExpectedContent(recorded: RecordedMessage): ReplyContent & { finish: string } {
  const { blocks, error } = recorded;
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const finish = resolveExpectedFinish(recorded, calls.length > 0);
  const isFailed = error !== null || (recorded.stop_reason === null && !recorded.ended);
  const isIncomplete = finish === "length" || finish === "content_filter";
  const status = isFailed ? "failed" : isIncomplete ? "incomplete" : "completed";
  const hasSearch = blocks.some(({ type }) => type === "web_search_tool_result");
  return {
    status,
    finish,
    incompleteReason: finish === "length" ? "max_output_tokens" : finish,
    error: isFailed ? toExpectedError(error) : undefined,
    text: blocks.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join(""),
    reasoning: joinThinking(blocks),
    refusal: "",
    transcript: "",
    annotations: hasSearch ? blocks.reduce((sum, block) => sum + (block.citations ?? 0), 0) : 0,
    calls: calls.map((call) => ({
      id: call.id ?? "",
      name: call.name ?? "",
      namespace: undefined,
      arguments: call.input_raw ?? JSON.stringify(call.input ?? {}),
      kind: "function",
      isComplete: status === "completed" && call.input_raw === undefined,
    })),
    order: buildExpectedOrder(blocks),
    usage: toExpectedUsage(recorded.usage),
  };
}

/** The catalogue names a splice by a word of its own. */
function toExpectedError(error: { message: string } | null): string {
  const message = error?.message ?? "";
  return message.startsWith("a second message_start") ? "second reply" : message;
}

function resolveExpectedFinish(
  { stop_reason: reason }: RecordedMessage,
  hasCalls: boolean,
): Finish {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
    case "pause_turn":
      return "length";
    case "refusal":
      return "content_filter";
    default:
      return hasCalls ? "tool_calls" : "stop";
  }
}

/** Joins consecutive thinking blocks as paragraphs. Other blocks in between separate the reasoning without a gap. */
function joinThinking(blocks: readonly RecordedBlock[]): string {
  let reasoning = "";
  let follows = false;
  for (const { type, thinking = "" } of blocks) {
    if (type === "thinking") {
      if (follows) reasoning += "\n\n";
      reasoning += thinking;
      follows = thinking !== "";
    } else if (type === "text" || type === "tool_use") follows = false;
  }
  return reasoning;
}

/** Returns undefined if the reply has blocks that are not translated, or that have no text. */
function buildExpectedOrder(blocks: readonly RecordedBlock[]): string | undefined {
  const letters: Record<string, string> = { text: "t", thinking: "r", tool_use: "c" };
  const isPlain = blocks.every(
    ({ type, text, thinking }) => letters[type] !== undefined && text !== "" && thinking !== "",
  );
  if (!isPlain) return undefined;
  // Blank text before the first thinking is part of the text after it.
  const [first] = blocks;
  const shown = first?.type === "text" && first.text?.trim() === "" ? blocks.slice(1) : blocks;
  return shown
    .map(({ type }) => letters[type])
    .join("")
    .replaceAll(/(.)\1+/g, "$1");
}

function toExpectedUsage(usage: RecordedMessage["usage"]): ReplyContent["usage"] {
  if (usage === null) return undefined;
  const cached = usage["cache_read_input_tokens"] ?? 0;
  const input = (usage["input_tokens"] ?? 0) + cached + (usage["cache_creation_input_tokens"] ?? 0);
  const output = usage["output_tokens"] ?? 0;
  return { input, output, total: input + output, cached, reasoning: 0 };
}
