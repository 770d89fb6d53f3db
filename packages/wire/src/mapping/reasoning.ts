import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ChatDelta } from "../shapes/chat-reply.ts";
import type { ReplyBudget } from "../reply-budget.ts";

/**
 * What a Chat upstream must get back on the next turn and a Responses history has no field for
 * (decision 40). It travels in `encrypted_content` of a reasoning item, sealed by whoever holds a key:
 * this package only packs and unpacks it.
 */
export interface ReasoningCarry {
  /** `reasoning_details` in order, fragments of one entry joined, otherwise verbatim. */
  details?: JsonObject[];
  /** Copilot's `reasoning_opaque`. */
  opaque?: string;
  /** `extra_content` of tool calls (Gemini's thought signatures) by `call_id`. */
  calls?: Record<string, JsonObject>;
}

/** Makes an opaque string of a carry; undefined when nothing can be sealed here. */
export type Seal = (carry: ReasoningCarry) => string | undefined;

/** The inverse; undefined for a string that this gateway did not seal for this upstream. */
export type Unseal = (sealed: string) => ReasoningCarry | undefined;

/** The fields of a delta that may hold reasoning. Several may hold the same words; then this is the order. */
export const reasoningFields = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "reasoning_text", // Copilot
  "thinking",
] as const;
type Field = (typeof reasoningFields)[number];

/** Most deltas have one or two fields: walking what is there costs less than asking for all that could be. */
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
 * Reads the reasoning out of a choice's deltas (decision 13). OpenRouter sends the same words in `reasoning` and in
 * `reasoning_details`, MiniMax in `reasoning_content` and there too: the first field seen is the source throughout.
 */
export class ReasoningReader {
  readonly #budget: ReplyBudget;
  #source: Field | undefined;
  #details: JsonObject[] = [];
  #opaque: string | undefined;
  /** Whether another field said the source's words again. */
  repeated = false;
  /** What another field said when the source was silent, or said otherwise: it is not read. */
  ignored: string | undefined;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  read(delta: ChatDelta): string {
    if (delta.reasoning_details !== undefined) this.#keepDetails(delta.reasoning_details);
    if (delta.reasoning_opaque !== undefined)
      this.#opaque = nonEmptyString(delta.reasoning_opaque) ?? this.#opaque;
    let words = "";
    let others: string | undefined;
    for (const field of reasoningFields) {
      const value = delta[field];
      if (value === undefined || value === null || value === "") continue;
      const text = reasoningText(value);
      if (text === "") continue;
      this.#source ??= field;
      if (field === this.#source) words = text;
      else others ??= text;
    }
    if (others !== undefined && others === words) this.repeated = true;
    else if (others !== undefined) this.ignored = others;
    return words;
  }

  /** What must go back to the upstream. */
  peekCarry(): ReasoningCarry | undefined {
    const carry: ReasoningCarry = {};
    if (this.#details.some(isOpaque)) carry.details = this.#details;
    if (this.#opaque !== undefined) carry.opaque = this.#opaque;
    return Object.keys(carry).length === 0 ? undefined : carry;
  }

  dropCarry(): void {
    this.#details = [];
    this.#opaque = undefined;
  }

  /** Fragments of one entry are joined, the way the entry would have come in a whole reply. */
  #keepDetails(details: unknown): void {
    if (!Array.isArray(details)) return;
    // Entries of one chunk are different ones; only the next chunk can go on with the last of them.
    let last = this.#details.at(-1);
    for (const detail of details) {
      if (!isObject(detail)) continue;
      if (last !== undefined && goesOnWith(last, detail)) joinDetail(last, detail, this.#budget);
      else {
        this.#budget.addValue(detail);
        this.#details.push({ ...detail });
      }
      last = undefined;
    }
  }
}

function goesOnWith(last: JsonObject, detail: JsonObject): boolean {
  if (last["type"] !== detail["type"] || last["index"] !== detail["index"]) return false;
  const [one, other] = [nonEmptyString(last["id"]), nonEmptyString(detail["id"])];
  return one === undefined || other === undefined || one === other;
}

function joinDetail(into: JsonObject, detail: JsonObject, budget: ReplyBudget): void {
  for (const [key, value] of Object.entries(detail)) {
    const present = into[key];
    if (typeof value === "string") budget.addStored(value.length);
    else if (present === undefined) budget.addValue(value);
    const grows = key === "text" || key === "summary" || key === "data";
    if (grows && typeof present === "string" && typeof value === "string")
      into[key] = present + value;
    else if (value !== null && value !== undefined && value !== "") into[key] = value;
  }
}

/** A detail that says more than its words. */
function isOpaque(detail: JsonObject): boolean {
  return (
    nonEmptyString(detail["signature"]) !== undefined ||
    nonEmptyString(detail["data"]) !== undefined
  );
}

export function reasoningText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(detailText).join("");
  if (isObject(value))
    return nonEmptyString(value["text"]) ?? nonEmptyString(value["content"]) ?? "";
  return "";
}

function detailText(detail: unknown): string {
  if (!isObject(detail)) return "";
  return nonEmptyString(detail["text"]) ?? nonEmptyString(detail["summary"]) ?? "";
}
