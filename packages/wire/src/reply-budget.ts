import { WireError } from "./error.ts";
import type { JsonValue } from "./json.ts";
import { JsonLimitScanner } from "./json-limits.ts";

/**
 * What one reply of an upstream may have. Far above what models write, and low enough that the work at the end of a
 * reply, when everything is put together and repeated, stays short.
 */
export const replyLimits = {
  /**
   * Characters of text, reasoning, refusals and arguments: about 500,000 tokens. Writing the last events of a reply that
   * has so many control characters took 190 ms; with twice as many 375 ms.
   */
  text: 2 * 1024 * 1024,
  /** Characters of images, audio, encrypted reasoning and everything else that is stored until the end. */
  stored: 32 * 1024 * 1024,
  /** JSON values that are stored until the end: log probabilities, annotations, items, fields that we do not know. */
  values: 1_000_000,
  /**
   * The same where the client asked for log probabilities: 20 of them for each of 8,000 tokens have 1,444,000. These took
   * 45 ms to count, 94 ms to parse and 60 ms to write.
   */
  valuesWithLogprobs: 1_500_000,
  /** JSON values in the arguments of all calls: they are parsed more than once when the reply ends. */
  argumentValues: 100_000,
  /** Levels of objects and arrays inside each other. Arguments that have more are not whole. */
  depth: 300,
  calls: 4_096,
  items: 8_192,
  choices: 1_024,
} as const;

export type ReplyLimits = { readonly [Name in keyof typeof replyLimits]: number };

type Limited = Exclude<keyof ReplyLimits, "depth" | "valuesWithLogprobs">;

/**
 * Counts what one reply has brought. The first method that finds its limit exceeded throws a WireError
 * `reply_too_large`; from then on none does, so that the reply can be ended.
 */
export class ReplyBudget {
  /** Grows with everything that the reply says. Unchanged after input that held only keep-alives. */
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
    this.#limits = { ...replyLimits, ...limits };
  }

  /** Text, reasoning or arguments of this many characters. */
  addText(length: number): void {
    this.progress += 1;
    this.#text += length;
    if (this.#text > this.#limits.text) this.#exceed("text");
  }

  /** A string that is stored until the end and is not text: an image, audio, encrypted reasoning. */
  addStored(length: number): void {
    this.progress += 1;
    this.#stored += length;
    if (this.#stored > this.#limits.stored) this.#exceed("stored");
  }

  /** A JSON value that is stored until the end. Takes time in proportion to its size. */
  addValue(value: JsonValue | undefined): void {
    this.progress += 1;
    const open: unknown[] = [value];
    while (open.length > 0) {
      const next = open.pop();
      this.#values += 1;
      if (this.#values > this.#limits.values) return this.#exceed("values");
      if (typeof next === "string") this.#stored += next.length;
      else if (Array.isArray(next)) for (const inner of next) open.push(inner);
      else if (typeof next === "object" && next !== null)
        for (const [name, inner] of Object.entries(next)) {
          this.#stored += name.length;
          open.push(inner);
        }
    }
    if (this.#stored > this.#limits.stored) this.#exceed("stored");
  }

  /** The arguments of a call, before they are parsed. Returns "depth" if they are nested too deeply to be used. */
  addArguments(json: string): "depth" | undefined {
    if (this.#isExceeded) return undefined;
    const maxValues = this.#limits.argumentValues - this.#argumentValues;
    const scanner = new JsonLimitScanner({ maxDepth: this.#limits.depth, maxValues });
    const exceeded = scanner.push(json);
    if (exceeded === "depth") return "depth";
    if (exceeded === "values") this.#exceed("argumentValues");
    this.#argumentValues += scanner.values;
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

  #exceed(what: Limited): void {
    if (this.#isExceeded) return;
    this.#isExceeded = true;
    throw new WireError(
      "reply_too_large",
      `the upstream's reply has more than ${this.#limits[what]} ${names[what]}, which is the limit`,
    );
  }
}

const names: Record<Limited, string> = {
  text: "characters of text and arguments",
  stored: "characters of images, audio and other data",
  values: "JSON values",
  argumentValues: "JSON values in the arguments of its tool calls",
  calls: "tool calls",
  items: "output items",
  choices: "choices",
};
