import { unreachable } from "../error.ts";
import { nonEmptyString, type JsonObject } from "../json.ts";
import { chatContent, mediaOf, textOf } from "../mapping/content.ts";
import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
  ChatToolMessage,
} from "../shapes/chat-request.ts";
import type { ReasoningItem } from "../shapes/responses-request.ts";
import { upstreamCallIds } from "../chat-upstream/call-ids.ts";
import type { CallEntry, Entry, ResultEntry } from "./entries.ts";
import {
  earlierReasoning,
  reasoningFields,
  thinkTagged,
  type ReasoningSources,
} from "./reasoning-replay.ts";

export interface MessageOptions extends ReasoningSources {
  profile: Profile;
  repairs: Repairs;
}

/**
 * Puts a history in the order that Chat servers insist on: all calls of one reply in one assistant message
 * together with its text, directly followed by one result for each call, in the order of the calls.
 */
export function chatMessages(entries: readonly Entry[], options: MessageOptions): ChatMessage[] {
  const conversation = new Conversation(entries, options);
  entries.forEach((entry, index) => conversation.add(entry, index));
  conversation.endReply();
  return conversation.messages;
}

/** One reply of the model, as far as it has been read. */
interface Reply {
  inTurn: boolean;
  reasoning: ReasoningItem[];
  parts: ChatContentPart[];
  calls: CallEntry[];
  /** Results of these calls that stand further down in the history. */
  awaited: Set<ResultEntry>;
  answered: boolean;
}

class Conversation {
  readonly messages: ChatMessage[] = [];
  readonly #options: MessageOptions;
  readonly #results: Map<CallEntry, ResultEntry>;
  readonly #paired: Set<ResultEntry>;
  readonly #callIds: Map<CallEntry, string>;
  readonly #signatures: Map<string, JsonObject>;
  readonly #turnStart: number;
  readonly #passed = new Set<ResultEntry>();
  #reply: Reply | undefined;

  constructor(entries: readonly Entry[], options: MessageOptions) {
    this.#options = options;
    const calls = entries.filter((entry) => entry.is === "call");
    this.#results = pair(calls, entries);
    this.#paired = new Set(this.#results.values());
    this.#callIds = upstreamCallIds(calls, options.profile.callIds, options.repairs);
    this.#signatures = signatures(entries, options);
    this.#turnStart = entries.findLastIndex((entry) => entry.is === "user" && !entry.note);
  }

  add(entry: Entry, index: number): void {
    switch (entry.is) {
      case "system":
        this.#interrupt();
        return void this.messages.push({ role: entry.role, content: textOf(entry.parts) });
      case "user":
        this.#interrupt();
        return void this.messages.push({ role: "user", content: chatContent(entry.parts) });
      case "reasoning":
        return void this.#openReply(index).reasoning.push(entry.item);
      case "assistant": {
        const reply = this.#openReply(index);
        // Codex stores a text that followed a call as call, message, output.
        if (reply.calls.length > 0) this.#reordered("text after a call");
        return void reply.parts.push(...entry.parts);
      }
      case "call": {
        const reply = this.#openReply(index);
        reply.calls.push(entry);
        const result = this.#results.get(entry);
        if (result === undefined) return;
        if (this.#passed.has(result)) this.#reordered("a result before its call");
        else reply.awaited.add(result);
        return;
      }
      case "result":
        return this.#result(entry);
      default:
        return unreachable(entry);
    }
  }

  /** Everything the model says until its calls are answered is one reply. */
  #openReply(index: number): Reply {
    if (this.#reply?.answered === true && this.#reply.awaited.size === 0) this.endReply();
    this.#reply ??= {
      inTurn: index > this.#turnStart,
      reasoning: [],
      parts: [],
      calls: [],
      awaited: new Set(),
      answered: false,
    };
    return this.#reply;
  }

  #result(result: ResultEntry): void {
    this.#passed.add(result);
    if (!this.#paired.has(result)) return this.#orphan(result);
    if (this.#reply?.awaited.delete(result) === true) this.#reply.answered = true;
  }

  /** A result without a call is refused by every server; as the user's words nothing of it is lost. */
  #orphan({ id, parts }: ResultEntry): void {
    this.#options.repairs.add("result_without_call", id);
    this.#interrupt();
    const label: ChatContentPart = { type: "text", text: `[Result of the tool call ${id}]` };
    this.messages.push({ role: "user", content: chatContent([label, ...parts]) });
  }

  #interrupt(): void {
    if (this.#reply !== undefined && this.#reply.awaited.size > 0)
      this.#reordered("a message between a call and its result");
    this.endReply();
  }

  endReply(): void {
    const reply = this.#reply;
    this.#reply = undefined;
    if (reply === undefined) return;
    if (reply.parts.length === 0 && reply.calls.length === 0)
      return this.#options.repairs.add("reasoning_dropped", "nothing was said or called after it");
    this.messages.push(this.#assistant(reply), ...this.#toolMessages(reply));
  }

  #assistant({ parts, calls, reasoning, inTurn }: Reply): ChatAssistantMessage {
    const { profile } = this.#options;
    const callIds = calls.map((call) => call.id);
    const earlier = earlierReasoning(reasoning, callIds, this.#options);
    if (profile.reasoningRequired && inTurn && calls.length > 0 && earlier.text === "")
      this.#options.repairs.add("reasoning_dropped", `lost before ${callIds.join(", ")}`);
    if (profile.reasoningField === "none" && earlier.text !== "")
      this.#options.repairs.add("reasoning_dropped", earlier.text);
    const said = [thinkTagged(earlier, inTurn, profile), textOf(parts)].filter(nonEmptyString);
    return {
      role: "assistant",
      ...(said.length > 0 ? { content: said.join("\n\n") } : emptyContents[profile.emptyContent]),
      ...reasoningFields(earlier, calls.length > 0, inTurn, profile),
      ...(calls.length > 0 ? { tool_calls: calls.map((call) => this.#toolCall(call)) } : {}),
    };
  }

  #toolCall(call: CallEntry): ChatToolCall {
    const id = this.#upstreamId(call);
    const signature = this.#signatures.get(call.id) ?? this.#remembered(call.id);
    const extra = signature === undefined ? {} : { extra_content: signature };
    const { name, input } = call;
    if (input.kind === "function")
      return { id, type: "function", function: { name, arguments: input.arguments }, ...extra };
    if (this.#options.profile.customTools === "native")
      return { id, type: "custom", custom: { name, input: input.text }, ...extra };
    const bridged = JSON.stringify({ input: input.text });
    return { id, type: "function", function: { name, arguments: bridged }, ...extra };
  }

  #toolMessages({ calls }: Reply): ChatMessage[] {
    const media: ChatContentPart[] = [];
    const messages = calls.map((call): ChatMessage => this.#toolMessage(call, media));
    return media.length === 0 ? messages : [...messages, { role: "user", content: media }];
  }

  #toolMessage(call: CallEntry, media: ChatContentPart[]): ChatToolMessage {
    const { profile, repairs } = this.#options;
    const answer = { role: "tool", tool_call_id: this.#upstreamId(call) } as const;
    const result = this.#results.get(call);
    if (result === undefined) {
      repairs.add("call_without_result", call.id);
      return { ...answer, content: "aborted: the call was never answered" };
    }
    if (result.parts.length === 0) {
      repairs.add("content_converted", `the empty result of ${call.id}`);
      return { ...answer, content: "(no output)" };
    }
    const attached = mediaOf(result.parts);
    if (attached.length === 0 || profile.toolResultMedia === "parts")
      return { ...answer, content: chatContent(result.parts) };
    repairs.add("content_converted", `media in the result of ${call.id}`);
    media.push({ type: "text", text: `[Attached to the result of ${call.name}]` }, ...attached);
    const text = [textOf(result.parts), "[attached below]"].filter(nonEmptyString).join("\n\n");
    return { ...answer, content: text };
  }

  #upstreamId(call: CallEntry): string {
    return this.#callIds.get(call) ?? call.id;
  }

  #remembered(callId: string): JsonObject | undefined {
    return ownValue(this.#options.recall?.(callId)?.calls, callId);
  }

  #reordered(what: string): void {
    this.#options.repairs.add("history_reordered", what);
  }
}

const emptyContents = { null: { content: null }, empty: { content: "" }, omit: {} } as const;

/** The first result of an id belongs to the first call of that id, wherever the two stand. */
function pair(calls: readonly CallEntry[], entries: readonly Entry[]): Map<CallEntry, ResultEntry> {
  const waiting = new Map<string, CallEntry[]>();
  for (const call of calls.toReversed()) {
    const sameId = waiting.get(call.id);
    if (sameId === undefined) waiting.set(call.id, [call]);
    else sameId.push(call);
  }
  const results = new Map<CallEntry, ResultEntry>();
  for (const entry of entries) {
    const call = entry.is === "result" ? waiting.get(entry.id)?.pop() : undefined;
    if (entry.is === "result" && call !== undefined) results.set(call, entry);
  }
  return results;
}

/** `extra_content` by call_id, out of all envelopes: Gemini refuses a call that comes back without its signature. */
function signatures(
  entries: readonly Entry[],
  { unseal }: ReasoningSources,
): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const entry of entries) {
    if (entry.is !== "reasoning" || !entry.item.encrypted_content) continue;
    const carried = unseal?.(entry.item.encrypted_content)?.calls ?? {};
    for (const [callId, extra] of Object.entries(carried)) found.set(callId, extra);
  }
  return found;
}

function ownValue<T>(record: Record<string, T> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
