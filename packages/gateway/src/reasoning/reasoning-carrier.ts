import type { ResponseOutputItem, OpaqueReasoning, CachedReasoning } from "@deltawire/wire";
import type { EnvelopeCipher } from "./envelope-cipher.ts";
import type { ConversationDigest } from "./conversation-digest.ts";
import type { ReasoningCache } from "./reasoning-cache.ts";

/** Carries the reasoning of one upstream: sealed in the history of the client, and cached in case the client drops it. */
export class ReasoningCarrier {
  readonly #upstream: string;
  readonly #envelopes: EnvelopeCipher;
  readonly #cache: ReasoningCache;

  constructor(upstream: string, envelopes: EnvelopeCipher, cache: ReasoningCache) {
    this.#upstream = upstream;
    this.#envelopes = envelopes;
    this.#cache = cache;
  }

  seal(reasoning: OpaqueReasoning): string {
    return this.#envelopes.seal(this.#upstream, reasoning);
  }

  unseal(envelope: string): OpaqueReasoning | undefined {
    return this.#envelopes.unseal(this.#upstream, envelope);
  }

  /** Returns the cached reasoning of a call in this conversation. */
  lookup(callId: string, conversation: ConversationDigest): CachedReasoning | undefined {
    const digest = conversation.getDigestBefore(callId);
    return digest === undefined ? undefined : this.#cache.lookup(this.#upstream, digest, callId);
  }

  /** Caches the reasoning of a reply to this conversation, by the reply's calls. */
  store(
    reasoning: CachedReasoning,
    callIds: readonly string[],
    conversation: ConversationDigest,
  ): void {
    this.#cache.store(this.#upstream, conversation.digest, callIds, reasoning);
  }

  /** Caches the reasoning in the output of a reply to this conversation, by the reply's calls. */
  storeOutput(output: readonly ResponseOutputItem[], conversation: ConversationDigest): void {
    const callIds = output.flatMap((item) => ("call_id" in item ? [item.call_id] : []));
    if (callIds.length === 0) return;
    const reasoningItems = output.filter((item) => item.type === "reasoning");
    const parts = reasoningItems.flatMap(({ summary, content }) => [
      ...(content ?? []),
      ...summary,
    ]);
    const sealedItem = reasoningItems.findLast(({ encrypted_content: envelope }) => envelope);
    const { text: _sealedText, ...opaqueReasoning } =
      this.unseal(sealedItem?.encrypted_content ?? "") ?? {};
    const text = parts.map((part) => part.text).join("\n\n");
    if (text === "" && Object.keys(opaqueReasoning).length === 0) return;
    this.store({ reasoning: text, ...opaqueReasoning }, callIds, conversation);
  }
}
