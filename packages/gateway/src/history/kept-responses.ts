import type { InputItem, ResponseObject, ResponsesRequest } from "@deltawire/wire";
import { Problem } from "../http/problem.ts";

/** What is kept at most, in characters of JSON over all responses; the least recently used goes first. */
const mostCharacters = 64 * 1024 * 1024;

interface Kept {
  previous: string | undefined;
  /** What this request added to the one before, and what came of it. */
  items: readonly InputItem[];
  size: number;
}

/** A request, what it says itself with its references resolved, and what it goes on from. */
interface Expanded {
  request: ResponsesRequest;
  own: readonly InputItem[];
  previous: string | undefined;
}

/**
 * What a Responses API remembers for its clients and a Chat upstream does not: the `ai` SDK sends what a model said
 * before as references to it, others only name the response that they go on from. It is kept in memory, and not at all
 * for requests with `store: false`, which is what Codex sends.
 */
export class KeptResponses {
  readonly #responses = new Map<string, Kept>();
  readonly #items = new Map<string, { item: InputItem; response: string }>();
  #characters = 0;

  /** The request with everything that it refers to, as a server without memory needs it. */
  expand(request: ResponsesRequest): Expanded {
    const { previous_response_id: previous, ...rest } = request;
    const given = itemsOf(request);
    const own = given.map((item) => this.#found(item));
    if (typeof previous === "string")
      return { request: { ...rest, input: [...this.#upTo(previous), ...own] }, own, previous };
    const changed = own.some((item, at) => item !== given[at]);
    return { request: changed ? { ...request, input: own } : request, own, previous: undefined };
  }

  keep({ own, previous }: Expanded, { id, output }: ResponseObject): void {
    const items = [...own, ...(output as unknown as InputItem[])];
    const size = JSON.stringify(items).length;
    this.#responses.set(id, { previous, items, size });
    this.#characters += size;
    for (const item of output)
      if (typeof item.id === "string")
        this.#items.set(item.id, { item: item as unknown as InputItem, response: id });
    for (const oldest of this.#responses.keys()) {
      if (this.#characters <= mostCharacters) break;
      this.#forget(oldest);
    }
  }

  #upTo(last: string): InputItem[] {
    const parts: (readonly InputItem[])[] = [];
    const seen = new Set<string>();
    for (let id: string | undefined = last; id !== undefined && !seen.has(id);) {
      const kept: Kept | undefined = this.#responses.get(id);
      if (kept === undefined)
        throw new Problem(
          "invalid_request",
          `Previous response with id '${id}' not found: it was not made here, not stored, or is no longer remembered; send the whole history in "input"`,
          { param: "previous_response_id" },
        );
      seen.add(id);
      this.#touch(id, kept);
      parts.unshift(kept.items);
      id = kept.previous;
    }
    return parts.flat();
  }

  #found(item: InputItem): InputItem {
    if (item.type !== "item_reference") return item;
    const { id } = item;
    const found = this.#items.get(id);
    if (found === undefined)
      throw new Problem(
        "invalid_request",
        `Item with id '${id}' not found: it was not made here, not stored, or is no longer remembered; send the item itself`,
        { param: "input" },
      );
    const kept = this.#responses.get(found.response);
    if (kept !== undefined) this.#touch(found.response, kept);
    return found.item;
  }

  #touch(id: string, kept: Kept): void {
    this.#responses.delete(id);
    this.#responses.set(id, kept);
  }

  #forget(id: string): void {
    const kept = this.#responses.get(id);
    if (kept === undefined) return;
    this.#responses.delete(id);
    this.#characters -= kept.size;
    for (const { id: itemId } of kept.items as readonly { id?: unknown }[])
      if (typeof itemId === "string" && this.#items.get(itemId)?.response === id)
        this.#items.delete(itemId);
  }
}

function itemsOf({ input }: ResponsesRequest): readonly InputItem[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return input ?? [];
}
