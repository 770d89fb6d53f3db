import { isObject, type JsonValue } from "../json.ts";
import type { CodexFunctionCall } from "./events.ts";

interface PendingCall {
  id: string | undefined;
  name: string | undefined;
  arguments: string;
}

/**
 * Assembles tool calls as Codex does (spec section 11.5). One instance is shared by all choices. `flush` removes the
 * calls, but neither the mapping of ids to indexes nor the last index.
 */
export class PendingCalls {
  /** By index, in the order in which the calls began. */
  readonly #calls = new Map<number, PendingCall>();
  readonly #indexById = new Map<string, number>();
  #nextIndex = 0;
  #lastIndex: number | undefined;

  add(callDelta: JsonValue): void {
    const {
      index: rawIndex,
      id: rawId,
      function: functionDelta,
    } = isObject(callDelta) ? callDelta : {};
    const id = typeof rawId === "string" ? rawId : undefined;
    const index = this.#resolveIndex(rawIndex, id);
    this.#lastIndex = index;
    let call = this.#calls.get(index);
    if (call === undefined) {
      call = { id: undefined, name: undefined, arguments: "" };
      this.#calls.set(index, call);
    }
    if (id !== undefined) {
      call.id ??= id;
      if (!this.#indexById.has(id)) this.#indexById.set(id, index);
    }
    if (!isObject(functionDelta)) return;
    const { name, arguments: argumentsDelta } = functionDelta;
    if (typeof name === "string" && name !== "") call.name ??= name;
    if (typeof argumentsDelta === "string") call.arguments += argumentsDelta;
  }

  /** Removes all calls and returns those that have a name. */
  flush(): CodexFunctionCall[] {
    const namedCalls: CodexFunctionCall[] = [];
    for (const [index, { id, name, arguments: args }] of this.#calls)
      if (name !== undefined)
        namedCalls.push({
          type: "function_call",
          id: null,
          name,
          arguments: args,
          call_id: id ?? `tool-call-${index}`,
        });
    this.#calls.clear();
    return namedCalls;
  }

  #resolveIndex(rawIndex: unknown, id: string | undefined): number {
    const knownIndex = id === undefined ? undefined : this.#indexById.get(id);
    const index = knownIndex ?? (isIndex(rawIndex) ? rawIndex : undefined);
    if (index !== undefined) return index;
    if (id === undefined && this.#lastIndex !== undefined) return this.#lastIndex;
    while (this.#calls.has(this.#nextIndex)) this.#nextIndex += 1;
    return this.#nextIndex++;
  }
}

function isIndex(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}
