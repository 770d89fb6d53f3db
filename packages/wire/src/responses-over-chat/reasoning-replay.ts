import { nonEmptyString, type JsonObject } from "../json.ts";
import type { ReasoningCarry, Unseal } from "../mapping/reasoning.ts";
import type { Profile } from "../profiles.ts";
import type { ChatAssistantMessage } from "../shapes/chat-request.ts";
import type { ReasoningItem } from "../shapes/responses-request.ts";

/** What the gateway remembers of the reply that made a call, for clients that lose reasoning items. */
export type Recall = (callId: string) => RecalledReasoning | undefined;
export type RecalledReasoning = ReasoningCarry & { reasoning?: string };

export interface ReasoningSources {
  unseal?: Unseal | undefined;
  recall?: Recall | undefined;
}

/** Everything known of the reasoning before one assistant message. */
export interface EarlierReasoning {
  text: string;
  details: JsonObject[];
  opaque: string | undefined;
}

/** From our own envelope first, then the raw text, then the summary, and last from memory by the ids of the calls. */
export function earlierReasoning(
  items: readonly ReasoningItem[],
  callIds: readonly string[],
  { unseal, recall }: ReasoningSources,
): EarlierReasoning {
  const found: EarlierReasoning = { text: "", details: [], opaque: undefined };
  for (const item of items) {
    // An envelope that is not ours is dropped in silence: the client has changed its provider (decision 40).
    const carry = item.encrypted_content ? unseal?.(item.encrypted_content) : undefined;
    if (carry !== undefined) take(found, carry);
    const text = joined(item.content) || joined(item.summary) || detailsText(carry?.details ?? []);
    found.text = [found.text, text].filter(nonEmptyString).join("\n\n");
  }
  // Words may have survived where signatures have not: then these are what memory is asked for.
  if (found.details.length > 0 || found.opaque !== undefined) return found;
  for (const id of callIds) {
    const remembered = recall?.(id);
    if (remembered === undefined) continue;
    take(found, remembered);
    found.text ||= remembered.reasoning ?? detailsText(remembered.details ?? []);
    break; // the calls of one message come from one reply
  }
  return found;
}

/** The fields of an assistant message that carry its reasoning, as the profile wants them. */
export function reasoningFields(
  reasoning: EarlierReasoning,
  hasCalls: boolean,
  inTurn: boolean,
  profile: Profile,
): Partial<ChatAssistantMessage> {
  const { reasoningField: field, reasoningRange: range, reasoningRequired: required } = profile;
  // Opaque means that this upstream gave it: only Copilot does, and it wants it back.
  const opaque = reasoning.opaque === undefined ? {} : { reasoning_opaque: reasoning.opaque };
  if (field === "none" || field === "think-tags") return opaque;
  const wanted = range === "all" || inTurn;
  if (field === "reasoning_details" && wanted && reasoning.details.length > 0)
    return { reasoning_details: reasoning.details, ...opaque };
  const name = field === "reasoning_details" ? "reasoning" : field;
  const text = wanted ? reasoning.text : "";
  return text !== "" || (required && hasCalls) ? { [name]: text, ...opaque } : opaque;
}

/** The reasoning as models write it that have no field for it, to stand in front of the text. */
export function thinkTagged({ text }: EarlierReasoning, inTurn: boolean, profile: Profile): string {
  const { reasoningField: field, reasoningRange: range } = profile;
  const wanted = field === "think-tags" && (range === "all" || inTurn);
  return wanted && text !== "" ? `<think>\n${text}\n</think>` : "";
}

function take(found: EarlierReasoning, carry: ReasoningCarry): void {
  found.details.push(...(carry.details ?? []));
  found.opaque = carry.opaque ?? found.opaque;
}

function joined(parts: readonly { text: string }[] | null | undefined): string {
  return (parts ?? [])
    .map((part) => part.text)
    .filter(nonEmptyString)
    .join("\n\n");
}

function detailsText(details: readonly JsonObject[]): string {
  const texts = details.map((detail) => detail["text"] ?? detail["summary"]);
  return texts.filter((text) => typeof text === "string").join("");
}
