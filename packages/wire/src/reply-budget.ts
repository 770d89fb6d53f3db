import { WireError } from "./error.ts";
import type { JsonValue } from "./json.ts";
import { JsonLimitScanner } from "./json-limits.ts";

/**
 * Limits on one reply of an upstream. They are far above what models write, and low enough that the last events, which
 * repeat the complete reply, are written quickly.
 */
export const defaultReplyLimits = {
  /**
   * Characters of text, reasoning, refusals and arguments: about 500,000 tokens. Writing the last events of a reply with this
   * many control characters took 190 ms, with twice as many 375 ms.
   */
  text: 2 * 1024 * 1024,
  /** Characters of images, audio, encrypted reasoning and other data that is buffered until the end. */
  stored: 32 * 1024 * 1024,
  /** JSON values that are buffered until the end: log probabilities, annotations, items, unknown fields. */
  values: 1_000_000,
  /**
   * Replaces `values` if the client requested log probabilities: 20 of them for each of 8,000 tokens are 1,444,000 values,
   * which took 45 ms to count, 94 ms to parse and 60 ms to write.
   */
  valuesWithLogprobs: 1_500_000,
  /** JSON values in the arguments of all tool calls, which are parsed more than once when the reply ends. */
  argumentValues: 100_000,
  /** Nesting depth of arguments. Arguments that are nested deeper count as incomplete. */
  depth: 300,
  calls: 4_096,
  items: 8_192,
  choices: 1_024,
} as const;

export type ReplyLimits = { readonly [Name in keyof typeof defaultReplyLimits]: number };

type ReplyLimitName = Exclude<keyof ReplyLimits, "depth" | "valuesWithLogprobs">;

/**
 * Counts the content of one reply. The first call that exceeds a limit throws a WireError `reply_too_large`; later calls
 * never throw, so that the reply can be ended.
 */
export class ReplyBudget {
  /** Counter that increases with all content of the reply, but not with keep-alives. */
  progress = 0;
  readonly #limits: ReplyLimits;
  #isExceeded = false;
  #text = 0;
  #stored = 0;
  #values = 0;
  #argumentValues = 0;
  #calls = 0;
  #items = 0;
  #choices = 0;

  constructor(limits: Partial<ReplyLimits> = {}) {
    this.#limits = { ...defaultReplyLimits, ...limits };
  }

  /** Counts text, reasoning or arguments of this many characters. With 0, only `progress` increases. */
  addText(length: number): void {
    this.progress += 1;
    this.#text += length;
    if (this.#text > this.#limits.text) this.#exceed("text");
  }

  /** Counts the characters of an image, audio or encrypted reasoning that is buffered until the end. */
  addStored(length: number): void {
    this.progress += 1;
    this.#stored += length;
    if (this.#stored > this.#limits.stored) this.#exceed("stored");
  }

  /** Counts a JSON value that is buffered until the end. Takes time linear in its size. */
  addValue(value: JsonValue | undefined): void {
    this.progress += 1;
    const stack: unknown[] = [value];
    while (stack.length > 0) {
      const current = stack.pop();
      this.#values += 1;
      if (this.#values > this.#limits.values) return this.#exceed("values");
      if (typeof current === "string") this.#stored += current.length;
      else if (Array.isArray(current)) for (const inner of current) stack.push(inner);
      else if (typeof current === "object" && current !== null)
        for (const [name, inner] of Object.entries(current)) {
          this.#stored += name.length;
          stack.push(inner);
        }
    }
    if (this.#stored > this.#limits.stored) this.#exceed("stored");
  }

  /** Counts the arguments of a tool call before they are parsed. Returns "depth" if they are nested too deeply. */
  addArguments(json: string): "depth" | undefined {
    if (this.#isExceeded) return undefined;
    const maxValues = this.#limits.argumentValues - this.#argumentValues;
    const scanner = new JsonLimitScanner({ maxDepth: this.#limits.depth, maxValues });
    const exceeded = scanner.push(json);
    if (exceeded === "depth") return "depth";
    if (exceeded === "values") this.#exceed("argumentValues");
    this.#argumentValues += scanner.valueCount;
    return undefined;
  }

  addCall(): void {
    this.progress += 1;
    this.#calls += 1;
    if (this.#calls > this.#limits.calls) this.#exceed("calls");
  }

  addItem(): void {
    this.progress += 1;
    this.#items += 1;
    if (this.#items > this.#limits.items) this.#exceed("items");
  }

  addChoice(): void {
    this.#choices += 1;
    if (this.#choices > this.#limits.choices) this.#exceed("choices");
  }

  #exceed(limit: ReplyLimitName): void {
    if (this.#isExceeded) return;
    this.#isExceeded = true;
    throw new WireError(
      "reply_too_large",
      `the upstream's reply exceeds the limit of ${this.#limits[limit]} ${limitDescriptions[limit]}`,
    );
  }
}

const limitDescriptions: Record<ReplyLimitName, string> = {
  text: "characters of text and arguments",
  stored: "characters of images, audio and other data",
  values: "JSON values",
  argumentValues: "JSON values in the arguments of its tool calls",
  calls: "tool calls",
  items: "output items",
  choices: "choices",
};
