import type { ResponseConversation } from "@deltawire/store";
import type { ResponseInputItem, ResponsesRequest } from "@deltawire/wire";

/** Maximum total size of the cached items, in characters of JSON. The least recently used responses are dropped first. */
const maxCharacters = 64 * 1024 * 1024;

/** What a later turn needs of a response. */
export interface CachedTurn {
  readonly previousResponseId: string | undefined;
  /** The conversation whose items precede those of the request. */
  readonly conversation?: ResponseConversation | undefined;
  /** The input of the request, without earlier turns, and its output. */
  readonly items: readonly ResponseInputItem[];
  /** In characters of JSON. */
  readonly size: number;
}

/** The latest responses in memory, by their owner and id. Responses of other owners are not found. */
export class ResponseCache {
  readonly #turns = new Map<string, CachedTurn>();
  /** The key of the response that contains an item, by the owner and the id of the item. */
  readonly #responseByItem = new Map<string, string>();
  #characters = 0;

  get(owner: string, responseId: string): CachedTurn | undefined {
    return this.#touch(toKey(owner, responseId));
  }

  findItem(owner: string, itemId: string): ResponseInputItem | undefined {
    const turn = this.#touch(this.#responseByItem.get(toKey(owner, itemId)) ?? "");
    return turn?.items.find(({ id }) => id === itemId);
  }

  set(owner: string, responseId: string, turn: CachedTurn): void {
    this.delete(owner, responseId);
    const key = toKey(owner, responseId);
    this.#turns.set(key, turn);
    this.#characters += turn.size;
    for (const { id } of turn.items)
      if (typeof id === "string") this.#responseByItem.set(toKey(owner, id), key);
    for (const oldest of this.#turns.keys()) {
      if (this.#characters <= maxCharacters) break;
      this.#delete(oldest, oldest.slice(0, oldest.indexOf(separator)));
    }
  }

  delete(owner: string, responseId: string): void {
    this.#delete(toKey(owner, responseId), owner);
  }

  #touch(key: string): CachedTurn | undefined {
    const turn = this.#turns.get(key);
    if (turn === undefined) return undefined;
    this.#turns.delete(key);
    this.#turns.set(key, turn);
    return turn;
  }

  #delete(key: string, owner: string): void {
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    this.#turns.delete(key);
    this.#characters -= turn.size;
    for (const { id } of turn.items) {
      const itemKey = typeof id === "string" ? toKey(owner, id) : "";
      if (this.#responseByItem.get(itemKey) === key) this.#responseByItem.delete(itemKey);
    }
  }
}

/** No name of an owner contains it. */
const separator = "\0";

const toKey = (owner: string, id: string): string => owner + separator + id;

/** Returns the input as items; a string becomes a user message. */
export function toInputItems({ input }: ResponsesRequest): readonly ResponseInputItem[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return input ?? [];
}
