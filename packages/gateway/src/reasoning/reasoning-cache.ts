import type { RecalledReasoning } from "@deltawire/wire";

/** What is stored at most: characters of reasoning and keys, over all conversations. */
const mostCharacters = 32 * 1024 * 1024;

/**
 * The reasoning that led to a call, for clients that lose their reasoning items and upstreams that refuse a call without
 * them. Ids such as `call_0` repeat, so a call is known by its upstream, its id, and a digest of the client and all that
 * precedes it in its conversation (`ConversationDigest`). The least recently used goes first.
 */
export class ReasoningCache {
  readonly #entries = new Map<string, { reasoning: RecalledReasoning; size: number }>();
  #characters = 0;

  /** `conversation`: the digest of what precedes the reply that made these calls. */
  store(
    upstream: string,
    conversation: string,
    callIds: readonly string[],
    reasoning: RecalledReasoning,
  ): void {
    const length = JSON.stringify(reasoning).length;
    for (const id of callIds) {
      const key = keyOf(upstream, conversation, id);
      this.#delete(key);
      const size = length + key.length;
      this.#entries.set(key, { reasoning, size });
      this.#characters += size;
    }
    for (const key of this.#entries.keys()) {
      if (this.#characters <= mostCharacters) break;
      this.#delete(key);
    }
  }

  lookup(upstream: string, conversation: string, callId: string): RecalledReasoning | undefined {
    const key = keyOf(upstream, conversation, callId);
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found.reasoning;
  }

  #delete(key: string): void {
    const found = this.#entries.get(key);
    if (found === undefined) return;
    this.#characters -= found.size;
    this.#entries.delete(key);
  }
}

function keyOf(upstream: string, conversation: string, callId: string): string {
  return `${upstream}\n${conversation}\n${callId}`;
}
