import type { Block, ToolOutput } from "@deltawire/tasks";

/** Makes choices from a list of numbers. */
export class Choices {
  readonly #numbers: readonly number[];
  #at = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  /** Returns a number below `n`, which is 0 when the list is used up. */
  pick(n: number): number {
    const choice = this.#numbers[this.#at] ?? 0;
    this.#at += 1;
    return choice % n;
  }

  of<T>(list: readonly T[]): T {
    return list[this.pick(list.length)] as T;
  }

  word(): string {
    return this.of(words);
  }

  /** Returns a random tool output. */
  output(): ToolOutput {
    const output: ToolOutput = { message_content: [], block_list: [] };
    for (let groups = this.pick(3); groups > 0; groups -= 1) {
      const id = `g${groups}`;
      const text = `found ${this.pick(3)} ${this.word()}`;
      output.message_content.push({ type: "text", text, id });
      output.block_list.push({ type: "text", text, id });
      if (this.pick(2) === 1) output.block_list.push({ ...this.image(), id });
    }
    const others: Block[] = [
      { type: "text", text: "see [^1]" },
      { type: "data", data: { temperature: 15, seen: ["a", null] } },
      { type: "audio", audio_url: { url: "/api/blobs/a" }, transcript: "sun" },
      { type: "file", file_url: { url: "/api/blobs/f" }, filename: "f.txt" },
    ];
    for (let n = this.pick(3); n > 0; n -= 1) output.block_list.push(this.of(others));
    return output;
  }

  image(): Block & { type: "image" } {
    const large = this.pick(12) === 1 ? "A".repeat(66_000) : "AAAA";
    return { type: "image", image_url: { url: `data:image/png;base64,${large}` } };
  }
}

const words = [
  "Hello ",
  "the weather ",
  "is sunny",
  ".[^1]",
  "[^2] and [^3]",
  "[^99]",
  "[^0]",
  "\n\n",
  "`",
  "\\`",
  "`x [^1]`",
  "\n```\n[^1]\n```\n",
  "[",
  "[^",
  "1",
  "]",
  "😀",
  "\ud83d",
  "\ude00",
  "中文",
  "é",
  "long ".repeat(430),
  `[^1]${"😀 far ".repeat(300)}[^2]`,
];
