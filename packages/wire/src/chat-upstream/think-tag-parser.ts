/** A segment of the answer or of the reasoning before it. */
export interface ThinkTagSegment {
  isReasoning: boolean;
  text: string;
}

const tagNames = ["think", "reasoning"] as const;
type TagName = (typeof tagNames)[number];

type State =
  | { at: "before"; held: string } // only blanks and tags so far: an opening tag may follow
  | { at: "inside"; tag: TagName; held: string }
  | { at: "answer" };

/**
 * Separates `<think>…</think>` and `<reasoning>…</reasoning>` from the content, even if a tag is split over chunks. A tag
 * counts only at the start, after blanks and other such blocks: in the middle of an answer or of code it is text. gpt-oss
 * on Bedrock sends a block for every few words.
 */
export class ThinkTagParser {
  #state: State;
  /** True once a tag was found. */
  hasFoundTag = false;

  /** `startsInside`: true if the prompt ends with the opening tag, so that the reply has only the closing one. */
  constructor(startsInside = false) {
    this.#state = startsInside
      ? { at: "inside", tag: "think", held: "" }
      : { at: "before", held: "" };
  }

  /** True once the answer has begun: further content is text and need not be pushed. */
  get isDone(): boolean {
    return this.#state.at === "answer";
  }

  push(content: string, out: ThinkTagSegment[]): void {
    let rest = content;
    while (rest !== "") {
      switch (this.#state.at) {
        case "before":
          rest = this.#readBefore(this.#state.held + rest, out);
          break;
        case "inside":
          rest = this.#readInside(this.#state.tag, this.#state.held + rest, out);
          break;
        case "answer":
          pushSegment(out, false, rest);
          return;
      }
    }
  }

  /** Emits buffered text that turned out not to be a tag. */
  end(out: ThinkTagSegment[]): void {
    if (this.#state.at === "answer") return;
    pushSegment(out, this.#state.at === "inside", this.#state.held);
    this.#state = { at: "answer" };
  }

  #readBefore(text: string, out: ThinkTagSegment[]): string {
    const start = text.search(/\S/);
    if (start === -1) {
      pushSegment(out, false, text);
      this.#state = { at: "before", held: "" };
      return "";
    }
    pushSegment(out, false, text.slice(0, start));
    const rest = text.slice(start);
    for (const tag of tagNames) {
      const opening = `<${tag}>`;
      if (rest.startsWith(opening)) {
        this.hasFoundTag = true;
        this.#state = { at: "inside", tag, held: "" };
        return rest.slice(opening.length);
      }
    }
    if (tagNames.some((tag) => `<${tag}>`.startsWith(rest))) {
      this.#state = { at: "before", held: rest };
      return "";
    }
    this.#state = { at: "answer" };
    return rest;
  }

  #readInside(tag: TagName, text: string, out: ThinkTagSegment[]): string {
    const closing = `</${tag}>`;
    let from = 0;
    for (;;) {
      const tagStart = text.indexOf(closing, from);
      if (tagStart === -1) break;
      const tagEnd = tagStart + closing.length;
      if (text[tagStart - 1] !== "`") return this.#close(text, tagStart, tagEnd, out);
      // A tag between backticks is only a mention of the tag. Whether it is one depends on the next character.
      if (tagEnd === text.length) {
        pushSegment(out, true, text.slice(0, tagStart - 1));
        this.#state = { at: "inside", tag, held: text.slice(tagStart - 1) };
        return "";
      }
      if (text[tagEnd] !== "`") return this.#close(text, tagStart, tagEnd, out);
      from = tagEnd;
    }
    const held = partialTagLength(text.slice(from), closing);
    pushSegment(out, true, text.slice(0, text.length - held));
    this.#state = { at: "inside", tag, held: text.slice(text.length - held) };
    return "";
  }

  #close(text: string, tagStart: number, tagEnd: number, out: ThinkTagSegment[]): string {
    this.hasFoundTag = true;
    pushSegment(out, true, text.slice(0, tagStart));
    this.#state = { at: "before", held: "" };
    return text.slice(tagEnd);
  }
}

function pushSegment(out: ThinkTagSegment[], isReasoning: boolean, text: string): void {
  if (text !== "") out.push({ isReasoning, text });
}

/** Returns how many characters at the end may be the start of the closing tag, including a backtick before it. */
function partialTagLength(text: string, closing: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length -= 1) {
    if (!closing.startsWith(text.slice(text.length - length))) continue;
    return text[text.length - length - 1] === "`" ? length + 1 : length;
  }
  return text.endsWith("`") ? 1 : 0;
}
