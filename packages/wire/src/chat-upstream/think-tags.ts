/** A run of characters that is either the answer or the thinking before it. */
export interface TaggedText {
  reasoning: boolean;
  text: string;
}

const names = ["think", "reasoning"] as const;
type TagName = (typeof names)[number];

type State =
  | { at: "before"; held: string } // nothing but blanks and tags so far: an opening tag may come
  | { at: "inside"; tag: TagName; held: string }
  | { at: "answer" };

/**
 * Takes `<think>…</think>` and `<reasoning>…</reasoning>` out of the content, with the tags cut anywhere. Only a tag
 * that nothing but blanks and other such blocks came before is one: in the middle of an answer, or of code, it is
 * text. gpt-oss on Bedrock sends a block for every few words.
 */
export class ThinkTags {
  #state: State;
  /** Whether a tag was found. */
  found = false;

  /** `startsInside`: the opening tag stood in the prompt, so the reply has only the closing one. */
  constructor(startsInside = false) {
    this.#state = startsInside
      ? { at: "inside", tag: "think", held: "" }
      : { at: "before", held: "" };
  }

  /** True once the answer has begun: from then on content is text and need not be pushed. */
  get isDone(): boolean {
    return this.#state.at === "answer";
  }

  push(content: string, out: TaggedText[]): void {
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
          put(out, false, rest);
          return;
      }
    }
  }

  /** What was held back, because it might have been the beginning of a tag. */
  end(out: TaggedText[]): void {
    if (this.#state.at === "answer") return;
    put(out, this.#state.at === "inside", this.#state.held);
    this.#state = { at: "answer" };
  }

  #readBefore(text: string, out: TaggedText[]): string {
    const start = text.search(/\S/);
    if (start === -1) {
      put(out, false, text);
      this.#state = { at: "before", held: "" };
      return "";
    }
    put(out, false, text.slice(0, start));
    const rest = text.slice(start);
    for (const tag of names) {
      const opening = `<${tag}>`;
      if (rest.startsWith(opening)) {
        this.found = true;
        this.#state = { at: "inside", tag, held: "" };
        return rest.slice(opening.length);
      }
    }
    if (names.some((tag) => `<${tag}>`.startsWith(rest))) {
      this.#state = { at: "before", held: rest };
      return "";
    }
    this.#state = { at: "answer" };
    return rest;
  }

  #readInside(tag: TagName, text: string, out: TaggedText[]): string {
    const closing = `</${tag}>`;
    let from = 0;
    for (;;) {
      const at = text.indexOf(closing, from);
      if (at === -1) break;
      const behind = at + closing.length;
      if (text[at - 1] !== "`") return this.#close(text, at, behind, out);
      // "`</think>`" is thinking about the tag, not the tag; the next character tells.
      if (behind === text.length) {
        put(out, true, text.slice(0, at - 1));
        this.#state = { at: "inside", tag, held: text.slice(at - 1) };
        return "";
      }
      if (text[behind] !== "`") return this.#close(text, at, behind, out);
      from = behind;
    }
    const held = heldBack(text.slice(from), closing);
    put(out, true, text.slice(0, text.length - held));
    this.#state = { at: "inside", tag, held: text.slice(text.length - held) };
    return "";
  }

  #close(text: string, at: number, behind: number, out: TaggedText[]): string {
    this.found = true;
    put(out, true, text.slice(0, at));
    this.#state = { at: "before", held: "" };
    return text.slice(behind);
  }
}

function put(out: TaggedText[], reasoning: boolean, text: string): void {
  if (text !== "") out.push({ reasoning, text });
}

/** How many characters at the end may be the beginning of the closing tag, a backtick before it included. */
function heldBack(text: string, closing: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length -= 1) {
    if (!closing.startsWith(text.slice(text.length - length))) continue;
    return text[text.length - length - 1] === "`" ? length + 1 : length;
  }
  return text.endsWith("`") ? 1 : 0;
}
