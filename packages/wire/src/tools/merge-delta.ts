import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ArgumentsBuffer } from "./arguments.ts";
import { joinedName, readFragment, type Fragment } from "./fragment.ts";

/**
 * Adds a fragment to its call, for those who know which call that is: the first id and name win, arguments grow, and
 * what repeats them does not count twice. Without a call it begins one; a call that it is given, it changes and returns.
 * `toolNames` joins a name that comes in pieces.
 */
export function mergeDelta(
  call: GrowingToolCall | undefined,
  delta: ChatToolCallDelta,
  toolNames: ReadonlySet<string> = new Set(),
): GrowingToolCall {
  const growing = call ?? new GrowingToolCall();
  growing.add(readFragment(delta, toolNames), toolNames);
  return growing;
}

/**
 * Whether id, name and whole arguments have come. More may still follow, so a call may run only if this holds when
 * the reply has finished. A server that sends nothing for a tool without parameters leaves its call incomplete.
 */
export function isComplete(call: GrowingToolCall): boolean {
  if (call.id === undefined || call.name === undefined || call.isDoubtful) return false;
  return call.hasWholeArguments;
}

/** A call in the hands of someone who assembles for himself; made by `mergeDelta`. */
export class GrowingToolCall {
  id: string | undefined;
  name: string | undefined;
  type: "function" | "custom" = "function";
  /** Two tools were named for it: which was meant cannot be known. */
  isDoubtful = false;
  readonly #buffer = new ArgumentsBuffer(() => {});
  #input = "";

  /** As they stand now; put together when it is read. */
  get arguments(): string {
    if (this.type === "custom") return this.#input;
    return this.#isBlank ? "" : (this.#buffer.peek()[0]?.text ?? "");
  }

  /** A custom call's input is plain text, and only the finish tells that it is all. */
  get hasWholeArguments(): boolean {
    if (this.type === "custom") return this.#input !== "";
    // Asked after every delta, this must not parse: the buffer knows whether the value has ended.
    if (!this.#buffer.isEnded) return false;
    const [only, ...more] = this.#isBlank ? [] : this.#buffer.peek();
    return only?.whole === true && more.length === 0 && isObject(parseJson(only.text));
  }

  add({ id, name, kind, arguments: text }: Fragment, toolNames: ReadonlySet<string>): void {
    this.id ??= id;
    if (name !== undefined) {
      this.name = joinedName(this.name, name, toolNames);
      if (this.name !== name && toolNames.has(name)) this.isDoubtful = true;
    }
    if (kind === "custom") this.type = kind;
    if (this.type === "custom") this.#input += text;
    else this.#buffer.push(text);
  }

  /** The call as it stands on the wire: the arguments are no field of this object, and would be missed. */
  toJSON(): JsonObject {
    const { id, name, type } = this;
    return type === "custom"
      ? { id, type, custom: { name, input: this.arguments } }
      : { id, type, function: { name, arguments: this.arguments } };
  }

  get #isBlank(): boolean {
    return this.#buffer.received.trim() === "";
  }
}
