import { isObject, type JsonValue } from "../json.ts";
import type { CodexFunctionCall } from "./events.ts";

interface PendingCall {
  id: string | undefined;
  name: string | undefined;
  arguments: string;
}

/**
 * 000's assembly of tool calls (11.5). All choices share it. A flush empties the calls only: ids stay bound to their
 * index, and the last index stays the last.
 */
export class PendingCalls {
  /** In the order of the first fragment. */
  readonly #calls = new Map<number, PendingCall>();
  readonly #indexById = new Map<string, number>();
  #next = 0;
  #last: number | undefined;

  add(fragment: JsonValue): void {
    const { index: sentIndex, id: sentId, function: said } = isObject(fragment) ? fragment : {};
    const id = typeof sentId === "string" ? sentId : undefined;
    const index = this.#indexOf(sentIndex, id);
    this.#last = index;
    let call = this.#calls.get(index);
    if (call === undefined) {
      call = { id: undefined, name: undefined, arguments: "" };
      this.#calls.set(index, call);
    }
    if (id !== undefined) {
      call.id ??= id;
      if (!this.#indexById.has(id)) this.#indexById.set(id, index);
    }
    if (!isObject(said)) return;
    const { name, arguments: piece } = said;
    if (typeof name === "string" && name !== "") call.name ??= name;
    if (typeof piece === "string") call.arguments += piece;
  }

  /** The calls that have a name; the others are gone too. */
  flush(): CodexFunctionCall[] {
    const whole: CodexFunctionCall[] = [];
    for (const [index, { id, name, arguments: all }] of this.#calls)
      if (name !== undefined)
        whole.push({
          type: "function_call",
          id: null,
          name,
          arguments: all,
          call_id: id ?? `tool-call-${index}`,
        });
    this.#calls.clear();
    return whole;
  }

  #indexOf(sent: unknown, id: string | undefined): number {
    const known = id === undefined ? undefined : this.#indexById.get(id);
    const index = known ?? (isIndex(sent) ? sent : undefined);
    if (index !== undefined) return index;
    if (id === undefined && this.#last !== undefined) return this.#last;
    while (this.#calls.has(this.#next)) this.#next += 1;
    return this.#next++;
  }
}

function isIndex(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}
