import { nonEmptyString, type JsonObject } from "../json.ts";
import type { CachedReasoning, OpaqueReasoning, UnsealReasoning } from "../mapping/reasoning.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { ChatAssistantMessage } from "../shapes/chat-request.ts";
import type { ResponseInputReasoning } from "../shapes/responses-request.ts";

/** Returns the cached reasoning of the reply that made a call, for clients that do not send reasoning items back. */
export type LookupReasoning = (callId: string) => CachedReasoning | undefined;

export interface ReasoningSources {
  unseal?: UnsealReasoning | undefined;
  lookupReasoning?: LookupReasoning | undefined;
}

/** The reasoning before one assistant message. */
export interface PriorReasoning {
  text: string;
  details: JsonObject[];
  opaque: string | undefined;
}

/**
 * Combines the reasoning items before a message. The text comes from an item's content, else its summary, else its unsealed
 * details. If no item could be unsealed, the cache is searched by the ids of the calls.
 */
export function resolvePriorReasoning(
  items: readonly ResponseInputReasoning[],
  callIds: readonly string[],
  { unseal, lookupReasoning }: ReasoningSources,
): PriorReasoning {
  const prior: PriorReasoning = { text: "", details: [], opaque: undefined };
  for (const item of items) {
    // Encrypted content that was not sealed here is ignored: the client has switched providers (decision 40).
    const opaqueReasoning = item.encrypted_content ? unseal?.(item.encrypted_content) : undefined;
    if (opaqueReasoning !== undefined) addOpaqueReasoning(prior, opaqueReasoning);
    const text =
      joinTexts(item.content) ||
      joinTexts(item.summary) ||
      opaqueReasoning?.text ||
      joinDetailTexts(opaqueReasoning?.details ?? []);
    prior.text = [prior.text, text].filter(nonEmptyString).join("\n\n");
  }
  // The client may have sent only the text. Then the cache is searched for the signatures.
  if (prior.details.length > 0 || prior.opaque !== undefined) return prior;
  for (const id of callIds) {
    const cached = lookupReasoning?.(id);
    if (cached === undefined) continue;
    addOpaqueReasoning(prior, cached);
    prior.text ||= cached.reasoning ?? joinDetailTexts(cached.details ?? []);
    break; // the calls of one message come from one reply
  }
  return prior;
}

/** Builds the fields of an assistant message that carry its reasoning, as the profile requires. */
export function buildReasoningFields(
  reasoning: PriorReasoning,
  hasCalls: boolean,
  isCurrentTurn: boolean,
  profile: UpstreamProfile,
): Partial<ChatAssistantMessage> {
  const { reasoningField: field, reasoningRange: range, reasoningRequired: required } = profile;
  // `reasoning_opaque` comes only from Copilot, which requires the field in later requests, whatever the profile says.
  const opaque = reasoning.opaque === undefined ? {} : { reasoning_opaque: reasoning.opaque };
  if (field === "none" || field === "think-tags") return opaque;
  const isIncluded = range === "all" || isCurrentTurn;
  if (field === "reasoning_details" && isIncluded && reasoning.details.length > 0)
    return { reasoning_details: reasoning.details, ...opaque };
  const name = field === "reasoning_details" ? "reasoning" : field;
  const text = isIncluded ? reasoning.text : "";
  return text !== "" || (required && hasCalls) ? { [name]: text, ...opaque } : opaque;
}

/** Returns the reasoning in `<think>` tags if the profile sends it in the text; otherwise "". */
export function formatThinkTags(
  { text }: PriorReasoning,
  isCurrentTurn: boolean,
  profile: UpstreamProfile,
): string {
  const { reasoningField: field, reasoningRange: range } = profile;
  const isIncluded = field === "think-tags" && (range === "all" || isCurrentTurn);
  return isIncluded && text !== "" ? `<think>\n${text}\n</think>` : "";
}

function addOpaqueReasoning(prior: PriorReasoning, opaqueReasoning: OpaqueReasoning): void {
  prior.details.push(...(opaqueReasoning.details ?? []));
  prior.opaque = opaqueReasoning.opaque ?? prior.opaque;
}

function joinTexts(parts: readonly { text: string }[] | null | undefined): string {
  return (parts ?? [])
    .map((part) => part.text)
    .filter(nonEmptyString)
    .join("\n\n");
}

function joinDetailTexts(details: readonly JsonObject[]): string {
  const texts = details.map((detail) => detail["text"] ?? detail["summary"]);
  return texts.filter((text) => typeof text === "string").join("");
}
