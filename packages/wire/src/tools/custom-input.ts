import { unreachable } from "../error.ts";
import { isObject, parseJson } from "../json.ts";
import { isPlainInput, type CallEvent } from "./assembler.ts";

/** `{"input":"` and the blanks that JSON allows between. Longer than this many characters, it is something else. */
const opening = /^\s*\{\s*"input"\s*:\s*"/;
const longestOpening = 64;

type State =
  | { at: "opening"; seen: string }
  | { at: "input"; escape: string }
  | { at: "behind" }
  | { at: "elsewhere" };

/**
 * Turns the arguments of a function that stands for a custom tool, `{"input":"…"}`, into the tool's input while they
 * stream. Arguments of another form are held until they are whole.
 */
export class CustomInput {
  #state: State = { at: "opening", seen: "" };
  #sent = "";

  /** A further piece of the arguments; answers with what it adds to the input. */
  push(delta: string): string {
    const added = this.#read(delta);
    this.#sent += added;
    return added;
  }

  /** What is left to send of the input when its call closes, and whether it is whole; a model may also send it bare. */
  finish(closed: CallEvent & { type: "call.closed" }): {
    input: string;
    rest: string;
    whole: boolean;
    unwrapped: boolean;
  } {
    const { arguments: text, whole, received, cut, finished, doubted } = closed;
    const bare = !whole && !doubted && isPlainInput(received, finished);
    if (cut || (!whole && !bare))
      return { input: this.#sent, rest: "", whole: false, unwrapped: false };
    const { input, unwrapped } = this.#close(text, whole, received);
    return { input, rest: input.slice(this.#sent.length), whole: true, unwrapped };
  }

  /** The whole input, from arguments that are whole JSON, or from the words the model put in their place. */
  #close(text: string, whole: boolean, received: string): { input: string; unwrapped: boolean } {
    const value = whole ? parseJson(text) : undefined;
    if (isObject(value) && typeof value["input"] === "string") {
      // Of a key that comes twice JSON.parse takes the last; what was sent is the first.
      const input = value["input"].startsWith(this.#sent) ? value["input"] : this.#sent;
      return { input, unwrapped: false };
    }
    if (this.#sent !== "") return { input: this.#sent, unwrapped: false };
    return { input: otherForm(value, received), unwrapped: received.trim() !== "" };
  }

  #read(delta: string): string {
    switch (this.#state.at) {
      case "opening": {
        const seen = this.#state.seen + delta;
        const match = opening.exec(seen);
        if (match !== null) {
          this.#state = { at: "input", escape: "" };
          return this.#readInput(seen.slice(match[0].length), "");
        }
        this.#state = seen.length > longestOpening ? { at: "elsewhere" } : { at: "opening", seen };
        return "";
      }
      case "input":
        return this.#readInput(delta, this.#state.escape);
      case "behind":
      case "elsewhere":
        return "";
      default:
        return unreachable(this.#state);
    }
  }

  /** JSON string contents, up to the closing quote; an escape that is cut in two waits for its rest. */
  #readInput(delta: string, escape: string): string {
    const text = escape + delta;
    let end = 0;
    while (end < text.length) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) {
        this.#state = { at: "behind" };
        return unescape(text.slice(0, end));
      }
      if (code !== BACKSLASH) {
        end += 1;
        continue;
      }
      const length = text.charCodeAt(end + 1) === LETTER_U ? 6 : 2;
      if (end + length > text.length) break;
      end += length;
    }
    this.#state = { at: "input", escape: text.slice(end) };
    return unescape(text.slice(0, end));
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_U = 117;

function unescape(contents: string): string {
  if (!contents.includes("\\")) return contents;
  const value = parseJson(`"${contents}"`) ?? parseJson(`"${contents.replace(/\s/g, escaped)}"`);
  return typeof value === "string" ? value : contents;
}

/** Models write raw line ends and tabs into the string, which JSON forbids. */
function escaped(blank: string): string {
  return JSON.stringify(blank).slice(1, -1);
}

/** `{"patch":"…"}`, `"…"`, a fenced block or the bare text. */
function otherForm(value: unknown, received: string): string {
  if (typeof value === "string") return value;
  if (isObject(value)) {
    const values = Object.values(value);
    if (values.length === 0) return "";
    if (values.length === 1 && typeof values[0] === "string") return values[0];
  }
  const fenced = /^\s*```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(received);
  return fenced?.[1] ?? received;
}
