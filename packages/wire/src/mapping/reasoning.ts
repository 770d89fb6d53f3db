import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import { shortHash } from "../short-hash.ts";
import type { ChatDelta } from "../shapes/chat-reply.ts";
import type { ReplyBudget } from "../reply-budget.ts";

/**
 * Data that a Chat upstream requires in later requests and that Responses items have no field for (decision 40). It is
 * sent to the client in `encrypted_content` of a reasoning item. The caller provides the encryption.
 */
export interface OpaqueReasoning {
  /** `reasoning_details` in order. Fragments of one entry are joined, everything else is unchanged. */
  details?: JsonObject[];
  /** Copilot's `reasoning_opaque`. */
  opaque?: string;
  /** The plain text, for clients that drop reasoning items without `encrypted_content`, or send them back without text. */
  text?: string;
  /** `extra_content` of tool calls (Gemini's thought signatures) by `call_id`. */
  calls?: Record<string, JsonObject>;
  /** For a Messages client: the hash of the thinking that was sent with it (`hashReasoningText`). */
  textHash?: string;
}

/** The reasoning of a reply with calls, in case the client drops it. */
export type CachedReasoning = OpaqueReasoning & { reasoning?: string };

/** Returns a short value that shows whether a client has changed a text. Not a cryptographic hash: it is sealed. */
export function hashReasoningText(text: string): string {
  return `${text.length}-${shortHash(text)}`;
}

/** OpenRouter's name for the encrypted reasoning of a Responses upstream in `reasoning_details`. */
export const encryptedReasoningFormat = "openai-responses-v1";

/** OpenRouter's name for the signed and redacted thinking of a Messages upstream in `reasoning_details`. */
export const messagesReasoningFormat = "anthropic-claude-v1";

/** The format of `reasoning_details` that were sealed here for a Chat client. */
export const sealedReasoningFormat = "deltawire-sealed-v1";

/** Encrypts the data to an opaque string. Returns undefined if sealing is not possible, for example without a key. */
export type SealReasoning = (reasoning: OpaqueReasoning) => string | undefined;

/** The inverse of `SealReasoning`. Returns undefined for a string that was not sealed here for this upstream. */
export type UnsealReasoning = (sealed: string) => OpaqueReasoning | undefined;

/** The fields of a delta that may contain reasoning, in order of preference if several have the same text. */
export const reasoningFieldNames = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "reasoning_text", // Copilot
  "thinking",
] as const;
type ReasoningFieldName = (typeof reasoningFieldNames)[number];

/** True if the delta has a reasoning field. Loops over the fields of the delta, because most deltas have only one or two. */
export function hasReasoning(delta: ChatDelta): boolean {
  for (const field in delta)
    switch (field) {
      case "reasoning_content":
      case "reasoning":
      case "reasoning_details":
      case "reasoning_text":
      case "reasoning_opaque":
      case "thinking":
        return true;
      default:
    }
  return false;
}

/**
 * Reads the reasoning from a choice's deltas (decision 13). OpenRouter sends the same text in `reasoning` and in
 * `reasoning_details`, MiniMax in `reasoning_content` and `reasoning_details`. So only the first field seen is used.
 */
export class ReasoningReader {
  readonly #budget: ReplyBudget;
  #sourceField: ReasoningFieldName | undefined;
  #details: JsonObject[] = [];
  #opaque: string | undefined;
  /** True if another field repeated the text of the source field. */
  hasRepeatedText = false;
  /** Text of another field that differs from the source field's. It is not part of the result. */
  ignoredText: string | undefined;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  read(delta: ChatDelta): string {
    if (delta.reasoning_details !== undefined) this.#mergeDetails(delta.reasoning_details);
    if (delta.reasoning_opaque !== undefined)
      this.#opaque = nonEmptyString(delta.reasoning_opaque) ?? this.#opaque;
    let sourceText = "";
    let otherText: string | undefined;
    for (const field of reasoningFieldNames) {
      const value = delta[field];
      if (value === undefined || value === null || value === "") continue;
      const text = extractReasoningText(value);
      if (text === "") continue;
      this.#sourceField ??= field;
      if (field === this.#sourceField) sourceText = text;
      else otherText ??= text;
    }
    if (otherText !== undefined && otherText === sourceText) this.hasRepeatedText = true;
    else if (otherText !== undefined) this.ignoredText = otherText;
    return sourceText;
  }

  /** Returns the data to send back to the upstream in later requests; undefined if there is none. */
  peekOpaque(): OpaqueReasoning | undefined {
    const result: OpaqueReasoning = {};
    if (this.#details.some(hasOpaqueData)) result.details = this.#details;
    if (this.#opaque !== undefined) result.opaque = this.#opaque;
    return Object.keys(result).length === 0 ? undefined : result;
  }

  clearOpaque(): void {
    this.#details = [];
    this.#opaque = undefined;
  }

  /** Joins the fragments of each entry, so that it has the same form as in a complete reply. */
  #mergeDetails(details: unknown): void {
    if (!Array.isArray(details)) return;
    // Entries of the same chunk are separate. Only the first one can continue the last entry of an earlier chunk.
    let previous = this.#details.at(-1);
    for (const detail of details) {
      if (!isObject(detail)) continue;
      if (previous !== undefined && isContinuation(previous, detail))
        appendDetail(previous, detail, this.#budget);
      else {
        this.#budget.addValue(detail);
        this.#details.push({ ...detail });
      }
      previous = undefined;
    }
  }
}

function isContinuation(previous: JsonObject, detail: JsonObject): boolean {
  if (previous["type"] !== detail["type"] || previous["index"] !== detail["index"]) return false;
  const [previousId, detailId] = [nonEmptyString(previous["id"]), nonEmptyString(detail["id"])];
  return previousId === undefined || detailId === undefined || previousId === detailId;
}

function appendDetail(target: JsonObject, detail: JsonObject, budget: ReplyBudget): void {
  for (const [key, value] of Object.entries(detail)) {
    const existing = target[key];
    if (typeof value === "string") budget.addStored(value.length);
    else if (existing === undefined) budget.addValue(value);
    const isAppendable = key === "text" || key === "summary" || key === "data";
    if (isAppendable && typeof existing === "string" && typeof value === "string")
      target[key] = existing + value;
    else if (value !== null && value !== undefined && value !== "") target[key] = value;
  }
}

/** True if the detail contains more than text. */
function hasOpaqueData(detail: JsonObject): boolean {
  return (
    nonEmptyString(detail["signature"]) !== undefined ||
    nonEmptyString(detail["data"]) !== undefined
  );
}

export function extractReasoningText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(extractDetailText).join("");
  if (isObject(value))
    return nonEmptyString(value["text"]) ?? nonEmptyString(value["content"]) ?? "";
  return "";
}

function extractDetailText(detail: unknown): string {
  if (!isObject(detail)) return "";
  return nonEmptyString(detail["text"]) ?? nonEmptyString(detail["summary"]) ?? "";
}
