import { assertNever } from "../error.ts";
import { nonEmptyString, type JsonObject } from "../json.ts";
import { toChatContent, getMediaParts, joinTextParts } from "../mapping/chat-content.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
  ChatToolMessage,
} from "../shapes/chat-request.ts";
import type { ResponseInputReasoning } from "../shapes/responses-request.ts";
import { assignCallIds } from "../chat-upstream/call-ids.ts";
import type { CallEntry, HistoryEntry, ResultEntry } from "./history-entries.ts";
import {
  resolvePriorReasoning,
  buildReasoningFields,
  formatThinkTags,
  type ReasoningSources,
} from "./reasoning-replay.ts";

export interface BuildMessagesOptions extends ReasoningSources {
  profile: UpstreamProfile;
  repairs: Repairs;
}

/**
 * Orders a history as Chat servers require: one assistant message per reply with its text and all its calls, directly
 * followed by one result per call, in the order of the calls.
 */
export function buildChatMessages(
  entries: readonly HistoryEntry[],
  options: BuildMessagesOptions,
): ChatMessage[] {
  const builder = new ChatMessageBuilder(entries, options);
  entries.forEach((entry, index) => builder.add(entry, index));
  builder.endReply();
  return builder.messages;
}

/** A reply of the model that is being assembled from history entries. */
interface AssistantReply {
  isCurrentTurn: boolean;
  reasoning: ResponseInputReasoning[];
  parts: ChatContentPart[];
  calls: CallEntry[];
  /** Results of `calls` that come later in the history. */
  pendingResults: Set<ResultEntry>;
  hasResult: boolean;
}

class ChatMessageBuilder {
  readonly messages: ChatMessage[] = [];
  readonly #options: BuildMessagesOptions;
  readonly #results: Map<CallEntry, ResultEntry>;
  readonly #pairedResults: Set<ResultEntry>;
  readonly #callIds: Map<CallEntry, string>;
  readonly #signatures: Map<string, JsonObject>;
  readonly #turnStart: number;
  readonly #seenResults = new Set<ResultEntry>();
  #reply: AssistantReply | undefined;

  constructor(entries: readonly HistoryEntry[], options: BuildMessagesOptions) {
    this.#options = options;
    const calls = entries.filter((entry) => entry.type === "call");
    this.#results = pairResultsWithCalls(calls, entries);
    this.#pairedResults = new Set(this.#results.values());
    this.#callIds = assignCallIds(calls, options.profile.callIds, options.repairs);
    this.#signatures = collectSignatures(entries, options);
    this.#turnStart = entries.findLastIndex((entry) => entry.type === "user" && !entry.isNote);
  }

  add(entry: HistoryEntry, index: number): void {
    switch (entry.type) {
      case "system":
        this.#interruptReply();
        return void this.messages.push({ role: entry.role, content: toSystemContent(entry.parts) });
      case "user":
        this.#interruptReply();
        return void this.messages.push({ role: "user", content: toChatContent(entry.parts) });
      case "reasoning":
        return void this.#getOrOpenReply(index).reasoning.push(entry.item);
      case "assistant": {
        const reply = this.#getOrOpenReply(index);
        // Codex stores text that followed a call as call, message, output.
        if (reply.calls.length > 0) this.#addReorderRepair("text after a call");
        return void reply.parts.push(...entry.parts);
      }
      case "call": {
        const reply = this.#getOrOpenReply(index);
        reply.calls.push(entry);
        const result = this.#results.get(entry);
        if (result === undefined) return;
        if (this.#seenResults.has(result)) this.#addReorderRepair("a result before its call");
        else reply.pendingResults.add(result);
        return;
      }
      case "result":
        return this.#addResult(entry);
      default:
        return assertNever(entry);
    }
  }

  /** Returns the current reply. Output after the results of its calls starts a new one. */
  #getOrOpenReply(index: number): AssistantReply {
    if (this.#reply?.hasResult === true && this.#reply.pendingResults.size === 0) this.endReply();
    this.#reply ??= {
      isCurrentTurn: index > this.#turnStart,
      reasoning: [],
      parts: [],
      calls: [],
      pendingResults: new Set(),
      hasResult: false,
    };
    return this.#reply;
  }

  #addResult(result: ResultEntry): void {
    this.#seenResults.add(result);
    if (!this.#pairedResults.has(result)) return this.#addOrphanResult(result);
    if (this.#reply?.pendingResults.delete(result) === true) this.#reply.hasResult = true;
  }

  /** Every server rejects a result without a call, so it is sent as a user message. */
  #addOrphanResult({ id, parts }: ResultEntry): void {
    this.#options.repairs.add("result_without_call", id);
    this.#interruptReply();
    const label: ChatContentPart = { type: "text", text: `[Result of the tool call ${id}]` };
    this.messages.push({ role: "user", content: toChatContent([label, ...parts]) });
  }

  #interruptReply(): void {
    if (this.#reply !== undefined && this.#reply.pendingResults.size > 0)
      this.#addReorderRepair("a message between a call and its result");
    this.endReply();
  }

  endReply(): void {
    const reply = this.#reply;
    this.#reply = undefined;
    if (reply === undefined) return;
    if (reply.parts.length === 0 && reply.calls.length === 0)
      return this.#options.repairs.add("reasoning_dropped", "no text or call follows it");
    this.messages.push(this.#buildAssistantMessage(reply), ...this.#buildToolMessages(reply));
  }

  #buildAssistantMessage({
    parts,
    calls,
    reasoning,
    isCurrentTurn,
  }: AssistantReply): ChatAssistantMessage {
    const { profile } = this.#options;
    const callIds = calls.map((call) => call.id);
    const priorReasoning = resolvePriorReasoning(reasoning, callIds, this.#options);
    if (
      profile.reasoningRequired &&
      isCurrentTurn &&
      calls.length > 0 &&
      priorReasoning.text === ""
    )
      this.#options.repairs.add("reasoning_dropped", `missing before ${callIds.join(", ")}`);
    if (profile.reasoningField === "none" && priorReasoning.text !== "")
      this.#options.repairs.add("reasoning_dropped", priorReasoning.text);
    const texts = [
      formatThinkTags(priorReasoning, isCurrentTurn, profile),
      joinTextParts(parts),
    ].filter(nonEmptyString);
    return {
      role: "assistant",
      ...(texts.length > 0
        ? { content: texts.join("\n\n") }
        : emptyContentFields[profile.emptyContent]),
      ...buildReasoningFields(priorReasoning, calls.length > 0, isCurrentTurn, profile),
      ...(calls.length > 0 ? { tool_calls: calls.map((call) => this.#buildToolCall(call)) } : {}),
    };
  }

  #buildToolCall(call: CallEntry): ChatToolCall {
    const id = this.#getUpstreamId(call);
    const signature = this.#signatures.get(call.id) ?? this.#lookupSignature(call.id);
    const extra = signature === undefined ? {} : { extra_content: signature };
    const { name, input } = call;
    if (input.kind === "function")
      return { id, type: "function", function: { name, arguments: input.arguments }, ...extra };
    if (this.#options.profile.customTools === "native")
      return { id, type: "custom", custom: { name, input: input.text }, ...extra };
    const jsonInput = JSON.stringify({ input: input.text });
    return { id, type: "function", function: { name, arguments: jsonInput }, ...extra };
  }

  #buildToolMessages({ calls }: AssistantReply): ChatMessage[] {
    const media: ChatContentPart[] = [];
    const messages = calls.map((call): ChatMessage => this.#buildToolMessage(call, media));
    return media.length === 0 ? messages : [...messages, { role: "user", content: media }];
  }

  #buildToolMessage(call: CallEntry, media: ChatContentPart[]): ChatToolMessage {
    const { profile, repairs } = this.#options;
    const toolMessage = { role: "tool", tool_call_id: this.#getUpstreamId(call) } as const;
    const result = this.#results.get(call);
    if (result === undefined) {
      repairs.add("call_without_result", call.id);
      const content = call.isAsync
        ? "still running: the result will follow in a later message"
        : "aborted: the call was never answered";
      return { ...toolMessage, content };
    }
    if (result.parts.length === 0) {
      repairs.add("content_converted", `the empty result of ${call.id}`);
      return { ...toolMessage, content: "(no output)" };
    }
    const mediaParts = getMediaParts(result.parts);
    if (mediaParts.length === 0 || profile.toolResultMedia === "parts")
      return { ...toolMessage, content: toChatContent(result.parts) };
    repairs.add("content_converted", `media in the result of ${call.id}`);
    media.push({ type: "text", text: `[Attached to the result of ${call.name}]` }, ...mediaParts);
    const text = [joinTextParts(result.parts), "[attached below]"]
      .filter(nonEmptyString)
      .join("\n\n");
    return { ...toolMessage, content: text };
  }

  #getUpstreamId(call: CallEntry): string {
    return this.#callIds.get(call) ?? call.id;
  }

  #lookupSignature(callId: string): JsonObject | undefined {
    return getOwnValue(this.#options.lookupReasoning?.(callId)?.calls, callId);
  }

  #addReorderRepair(detail: string): void {
    this.#options.repairs.add("history_reordered", detail);
  }
}

/** Returns a string, or the text parts if one of them has a cache breakpoint. */
function toSystemContent(parts: readonly ChatContentPart[]): ChatContent {
  return toChatContent(parts.filter((part) => part.type === "text"));
}

const emptyContentFields = { null: { content: null }, empty: { content: "" }, omit: {} } as const;

/** Pairs calls and results with the same id in order, the first with the first, regardless of their distance. */
function pairResultsWithCalls(
  calls: readonly CallEntry[],
  entries: readonly HistoryEntry[],
): Map<CallEntry, ResultEntry> {
  const unpairedCalls = new Map<string, CallEntry[]>();
  for (const call of calls.toReversed()) {
    const callsWithId = unpairedCalls.get(call.id);
    if (callsWithId === undefined) unpairedCalls.set(call.id, [call]);
    else callsWithId.push(call);
  }
  const results = new Map<CallEntry, ResultEntry>();
  for (const entry of entries) {
    const call = entry.type === "result" ? unpairedCalls.get(entry.id)?.pop() : undefined;
    if (entry.type === "result" && call !== undefined) results.set(call, entry);
  }
  return results;
}

/**
 * Returns the `extra_content` of calls by call id, from all sealed reasoning. Gemini rejects a call in the history without
 * its signature.
 */
function collectSignatures(
  entries: readonly HistoryEntry[],
  { unseal }: ReasoningSources,
): Map<string, JsonObject> {
  const signatureByCallId = new Map<string, JsonObject>();
  for (const entry of entries) {
    if (entry.type !== "reasoning" || !entry.item.encrypted_content) continue;
    const extraByCallId = unseal?.(entry.item.encrypted_content)?.calls ?? {};
    for (const [callId, extra] of Object.entries(extraByCallId))
      signatureByCallId.set(callId, extra);
  }
  return signatureByCallId;
}

function getOwnValue<T>(record: Record<string, T> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
