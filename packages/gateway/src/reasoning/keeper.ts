import type { OutputItem, ReasoningCarry, RecalledReasoning } from "@deltawire/wire";
import type { Envelopes } from "./envelope.ts";
import type { ConversationDigest } from "./conversation-digest.ts";
import type { ReasoningCache } from "./reasoning-cache.ts";

/** What one upstream needs back later: sealed into the client's history, and cached in case the client loses it. */
export class ReasoningKeeper {
  readonly #upstream: string;
  readonly #envelopes: Envelopes;
  readonly #cache: ReasoningCache;

  constructor(upstream: string, envelopes: Envelopes, cache: ReasoningCache) {
    this.#upstream = upstream;
    this.#envelopes = envelopes;
    this.#cache = cache;
  }

  seal(carry: ReasoningCarry): string {
    return this.#envelopes.seal(this.#upstream, carry);
  }

  unseal(envelope: string): ReasoningCarry | undefined {
    return this.#envelopes.unseal(this.#upstream, envelope);
  }

  /** What was cached of a call of this conversation. */
  lookup(callId: string, conversation: ConversationDigest): RecalledReasoning | undefined {
    const before = conversation.before(callId);
    return before === undefined ? undefined : this.#cache.lookup(this.#upstream, before, callId);
  }

  /** Caches the reasoning of a reply to this conversation, by the reply's calls. */
  store(output: readonly OutputItem[], conversation: ConversationDigest): void {
    const callIds = output.flatMap((item) => ("call_id" in item ? [item.call_id] : []));
    if (callIds.length === 0) return;
    const reasoning = output.filter((item) => item.type === "reasoning");
    const words = reasoning.flatMap(({ summary, content }) => [...(content ?? []), ...summary]);
    const sealed = reasoning.findLast(({ encrypted_content: envelope }) => envelope);
    const carry = this.unseal(sealed?.encrypted_content ?? "");
    const text = words.map((part) => part.text).join("\n\n");
    if (text === "" && carry === undefined) return;
    const found = { reasoning: text, ...carry };
    this.#cache.store(this.#upstream, conversation.end, callIds, found);
  }
}
