import { assertNever } from "../error.ts";
import { isObject, parseJson } from "../json.ts";
import { isPlainInput, type CallEvent } from "./tool-call-assembler.ts";

/**
 * Matches `{"input":"` with optional white space. Arguments without a match in their first 64 characters have another
 * form.
 */
const inputOpening = /^\s*\{\s*"input"\s*:\s*"/;
const maxOpeningLength = 64;

type State =
  | { at: "opening"; buffered: string }
  | { at: "input"; escape: string }
  | { at: "closed" }
  | { at: "otherForm" };

/**
 * Decodes the streamed arguments of a function that represents a custom tool, `{"input":"…"}`, to the tool's input.
 * Input in another form is only returned by `finish`.
 */
export class CustomInputDecoder {
  #state: State = { at: "opening", buffered: "" };
  #sent = "";

  /** Takes the next arguments delta and returns the input that it adds. */
  push(delta: string): string {
    const added = this.#read(delta);
    this.#sent += added;
    return added;
  }

  /**
   * Returns the input, the part that was not sent yet, and whether it is complete. Some models send the input without
   * the JSON around it.
   */
  finish(event: CallEvent & { type: "call.closed" }): {
    input: string;
    remaining: string;
    isComplete: boolean;
    wasUnwrapped: boolean;
  } {
    const {
      arguments: text,
      isComplete,
      rawArguments,
      isTruncated,
      upstreamFinished,
      isUnreliable,
    } = event;
    const isPlainText =
      !isComplete && !isUnreliable && isPlainInput(rawArguments, upstreamFinished);
    if (isTruncated || (!isComplete && !isPlainText))
      return { input: this.#sent, remaining: "", isComplete: false, wasUnwrapped: false };
    const { input, wasUnwrapped } = this.#resolveInput(text, isComplete, rawArguments);
    return { input, remaining: input.slice(this.#sent.length), isComplete: true, wasUnwrapped };
  }

  /** Returns the complete input, from JSON arguments or from the plain text that the model sent instead. */
  #resolveInput(
    text: string,
    isComplete: boolean,
    rawArguments: string,
  ): { input: string; wasUnwrapped: boolean } {
    const value = isComplete ? parseJson(text) : undefined;
    if (isObject(value) && typeof value["input"] === "string") {
      // JSON.parse takes the last value of a duplicate key, but the first one was already sent.
      const input = value["input"].startsWith(this.#sent) ? value["input"] : this.#sent;
      return { input, wasUnwrapped: false };
    }
    if (this.#sent !== "") return { input: this.#sent, wasUnwrapped: false };
    return { input: unwrapInput(value, rawArguments), wasUnwrapped: rawArguments.trim() !== "" };
  }

  #read(delta: string): string {
    switch (this.#state.at) {
      case "opening": {
        const buffered = this.#state.buffered + delta;
        const match = inputOpening.exec(buffered);
        if (match !== null) {
          this.#state = { at: "input", escape: "" };
          return this.#readInput(buffered.slice(match[0].length), "");
        }
        this.#state =
          buffered.length > maxOpeningLength ? { at: "otherForm" } : { at: "opening", buffered };
        return "";
      }
      case "input":
        return this.#readInput(delta, this.#state.escape);
      case "closed":
      case "otherForm":
        return "";
      default:
        return assertNever(this.#state);
    }
  }

  /** Reads the contents of a JSON string up to the closing quote. An incomplete escape is buffered. */
  #readInput(delta: string, escape: string): string {
    const text = escape + delta;
    let end = 0;
    while (end < text.length) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) {
        this.#state = { at: "closed" };
        return unescapeJsonString(text.slice(0, end));
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
    return unescapeJsonString(text.slice(0, end));
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_U = 117;

function unescapeJsonString(contents: string): string {
  if (!contents.includes("\\")) return contents;
  const value =
    parseJson(`"${contents}"`) ?? parseJson(`"${contents.replace(/\s/g, escapeWhitespace)}"`);
  return typeof value === "string" ? value : contents;
}

/** Models write unescaped line breaks and tabs into the string, which JSON forbids. */
function escapeWhitespace(whitespace: string): string {
  return JSON.stringify(whitespace).slice(1, -1);
}

/** Extracts the input from `{"patch":"…"}`, `"…"`, a fenced block or plain text. */
function unwrapInput(value: unknown, rawArguments: string): string {
  if (typeof value === "string") return value;
  if (isObject(value)) {
    const values = Object.values(value);
    if (values.length === 0) return "";
    if (values.length === 1 && typeof values[0] === "string") return values[0];
  }
  const fencedBlock = /^\s*```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(rawArguments);
  return fencedBlock?.[1] ?? rawArguments;
}
