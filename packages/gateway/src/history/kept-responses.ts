import type { InputItem, ResponseObject, ResponsesRequest } from "@deltawire/wire";
import { Problem } from "../problem.ts";

/** What is kept at most, in characters of JSON over all responses; the least recently used goes first. */
const mostCharacters = 64 * 1024 * 1024;

interface Kept {
  /** The name of the client's token: ids are looked up among the responses of the same client only. */
  client: string;
  previous: string | undefined;
  /** What this request added to the one before, and what came of it. */
  items: readonly InputItem[];
  size: number;
}

/** A request, what it says itself with its references resolved, and what it goes on from. */
interface Expanded {
  client: string;
  request: ResponsesRequest;
  own: readonly InputItem[];
  previous: string | undefined;
}

/**
 * What a Responses API remembers for its clients and a Chat upstream does not: the `ai` SDK sends what a model said
 * before as references to it, others only name the response that they go on from. It is kept in memory, and not at all
 * for requests with `store: false`, which is what Codex sends. A client's responses are not found by another client.
 */
export class KeptResponses {
  readonly #responses = new Map<string, Kept>();
  readonly #items = new Map<string, { item: InputItem; response: string }>();
  #characters = 0;

  /**
   * The request with everything that it refers to, as a server without memory needs it. Throws a Problem for what this
   * client has not stored. `client`: the name of its token, empty where none is configured.
   */
  expand(request: ResponsesRequest, client = ""): Expanded {
    const { previous_response_id: previous, ...rest } = request;
    const given = inputItems(request);
    const own = given.map((item) => this.#found(item, client));
    if (typeof previous === "string")
      return {
        client,
        request: { ...rest, input: [...this.#upTo(previous, client), ...own] },
        own,
        previous,
      };
    const changed = own.some((item, at) => item !== given[at]);
    return {
      client,
      request: changed ? { ...request, input: own } : request,
      own,
      previous: undefined,
    };
  }

  keep({ client, own, previous }: Expanded, { id, output }: ResponseObject): void {
    const items = [...own, ...(output as unknown as InputItem[])];
    const size = JSON.stringify(items).length;
    this.#responses.set(id, { client, previous, items, size });
    this.#characters += size;
    for (const item of output)
      if (typeof item.id === "string")
        this.#items.set(item.id, { item: item as unknown as InputItem, response: id });
    for (const oldest of this.#responses.keys()) {
      if (this.#characters <= mostCharacters) break;
      this.#forget(oldest);
    }
  }

  #upTo(last: string, client: string): InputItem[] {
    const parts: (readonly InputItem[])[] = [];
    const seen = new Set<string>();
    for (let id: string | undefined = last; id !== undefined && !seen.has(id);) {
      const kept: Kept | undefined = this.#responses.get(id);
      if (kept === undefined || kept.client !== client)
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

  #found(item: InputItem, client: string): InputItem {
    if (item.type !== "item_reference") return item;
    const { id } = item;
    const found = this.#items.get(id);
    const kept = found && this.#responses.get(found.response);
    if (found === undefined || kept === undefined || kept.client !== client)
      throw new Problem(
        "invalid_request",
        `Item with id '${id}' not found: it was not made here, not stored, or is no longer remembered; send the item itself`,
        { param: "input" },
      );
    this.#touch(found.response, kept);
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

/** The items of a request; a text is a message of the user. */
export function inputItems({ input }: ResponsesRequest): readonly InputItem[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return input ?? [];
}
