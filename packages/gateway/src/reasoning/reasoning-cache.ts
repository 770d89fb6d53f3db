import type { CachedReasoning } from "@deltawire/wire";

/** Maximum size of reasoning and keys of all conversations, in characters. */
const maxCharacters = 32 * 1024 * 1024;

/**
 * Stores the reasoning before tool calls, for clients that drop reasoning items and upstreams that reject calls without them.
 * Ids such as `call_0` repeat, so the key of a call is its upstream, its id, and a digest of the client and of everything
 * before it in the conversation (`ConversationDigest`). The least recently used entries are dropped first.
 */
export class ReasoningCache {
  readonly #entries = new Map<string, { reasoning: CachedReasoning; size: number }>();
  #totalSize = 0;

  /** `conversation`: the digest of what precedes the reply that made these calls. */
  store(
    upstream: string,
    conversation: string,
    callIds: readonly string[],
    reasoning: CachedReasoning,
  ): void {
    const reasoningSize = JSON.stringify(reasoning).length;
    for (const id of callIds) {
      const key = buildKey(upstream, conversation, id);
      this.#delete(key);
      const size = reasoningSize + key.length;
      this.#entries.set(key, { reasoning, size });
      this.#totalSize += size;
    }
    for (const key of this.#entries.keys()) {
      if (this.#totalSize <= maxCharacters) break;
      this.#delete(key);
    }
  }

  lookup(upstream: string, conversation: string, callId: string): CachedReasoning | undefined {
    const key = buildKey(upstream, conversation, callId);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.reasoning;
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#totalSize -= entry.size;
    this.#entries.delete(key);
  }
}

function buildKey(upstream: string, conversation: string, callId: string): string {
  return `${upstream}\n${conversation}\n${callId}`;
}
