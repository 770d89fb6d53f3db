import type { RecalledReasoning } from "@deltawire/wire";

/** What is kept in memory at most: characters of reasoning, over all conversations. */
const mostCharacters = 32 * 1024 * 1024;

/**
 * The reasoning that led to a call, by the call's id: for clients that lose their reasoning items, and upstreams that
 * refuse a call without them. The least recently used goes first.
 */
export class Recollection {
  readonly #kept = new Map<
    string,
    { upstream: string; reasoning: RecalledReasoning; size: number }
  >();
  #characters = 0;

  remember(upstream: string, callIds: readonly string[], reasoning: RecalledReasoning): void {
    const size = JSON.stringify(reasoning).length;
    for (const id of callIds) {
      this.#forget(id);
      this.#kept.set(id, { upstream, reasoning, size });
      this.#characters += size;
    }
    for (const id of this.#kept.keys()) {
      if (this.#characters <= mostCharacters) break;
      this.#forget(id);
    }
  }

  recall(upstream: string, callId: string): RecalledReasoning | undefined {
    const found = this.#kept.get(callId);
    if (found === undefined || found.upstream !== upstream) return undefined;
    this.#kept.delete(callId);
    this.#kept.set(callId, found);
    return found.reasoning;
  }

  #forget(id: string): void {
    const found = this.#kept.get(id);
    if (found === undefined) return;
    this.#characters -= found.size;
    this.#kept.delete(id);
  }
}
