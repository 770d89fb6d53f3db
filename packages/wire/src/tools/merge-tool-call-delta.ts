import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ArgumentsBuffer } from "./arguments-buffer.ts";
import {
  joinToolName,
  parseToolCallFragment,
  type ToolCallFragment,
} from "./tool-call-fragment.ts";

/**
 * Merges a delta into the call that it belongs to. The first id and name win, arguments are appended, and repeated
 * arguments are ignored. Creates a call if `call` is undefined; otherwise changes and returns `call`. `toolNames` is
 * needed to join a name that is split over several deltas.
 */
export function mergeToolCallDelta(
  call: ToolCallAccumulator | undefined,
  delta: ChatToolCallDelta,
  toolNames: ReadonlySet<string> = new Set(),
): ToolCallAccumulator {
  const accumulator = call ?? new ToolCallAccumulator();
  accumulator.add(parseToolCallFragment(delta, toolNames), toolNames);
  return accumulator;
}

/**
 * True if id, name and complete arguments have arrived. More deltas may follow, so run the call only if this is still true
 * when the reply has finished. A call without any argument text is never complete.
 */
export function isToolCallComplete(call: ToolCallAccumulator): boolean {
  if (call.id === undefined || call.name === undefined || call.isAmbiguous) return false;
  return call.hasCompleteArguments;
}

/** A call that is assembled with `mergeToolCallDelta`. */
export class ToolCallAccumulator {
  id: string | undefined;
  name: string | undefined;
  type: "function" | "custom" = "function";
  /** True if the deltas named two different tools. */
  isAmbiguous = false;
  readonly #buffer = new ArgumentsBuffer(() => {});
  #input = "";

  /** The arguments so far. Computed on each access. */
  get arguments(): string {
    if (this.type === "custom") return this.#input;
    return this.#isBlank ? "" : (this.#buffer.peek()[0]?.text ?? "");
  }

  /** For custom calls, true if there is any input: only the end of the reply shows that plain text is complete. */
  get hasCompleteArguments(): boolean {
    if (this.type === "custom") return this.#input !== "";
    // Called after every delta, so check the buffer's state before parsing.
    if (!this.#buffer.hasEndedValue) return false;
    const [firstValue, ...others] = this.#isBlank ? [] : this.#buffer.peek();
    return (
      firstValue?.isComplete === true && others.length === 0 && isObject(parseJson(firstValue.text))
    );
  }

  add({ id, name, kind, arguments: text }: ToolCallFragment, toolNames: ReadonlySet<string>): void {
    this.id ??= id;
    if (name !== undefined) {
      this.name = joinToolName(this.name, name, toolNames);
      if (this.name !== name && toolNames.has(name)) this.isAmbiguous = true;
    }
    if (kind === "custom") this.type = kind;
    if (this.type === "custom") this.#input += text;
    else this.#buffer.push(text);
  }

  /** The call in the format of the Chat wire. */
  toJSON(): JsonObject {
    const { id, name, type } = this;
    return type === "custom"
      ? { id, type, custom: { name, input: this.arguments } }
      : { id, type, function: { name, arguments: this.arguments } };
  }

  get #isBlank(): boolean {
    return this.#buffer.rawText.trim() === "";
  }
}
