import { setImmediate } from "node:timers/promises";
import type { Handler, Parser } from "htmlparser2";

/**
 * Returns the readable content of an HTML page as plain text with simple Markdown: headings, lists, links, code.
 * Parses in slices and yields to the event loop after each.
 */
export async function htmlToText(
  html: string,
  base: URL,
): Promise<{ title: string; text: string }> {
  const htmlparser2 = await import("htmlparser2"); // imported on first use
  const page = new HtmlTextWriter(base);
  for (let index = 0; index < html.length;) {
    const parser = new htmlparser2.Parser(page);
    const start = index;
    while (index < html.length && !page.isTooDeep) {
      parser.write(html.slice(index, index + sliceLength));
      index += sliceLength;
      await setImmediate();
    }
    if (page.isTooDeep) index = start + parser.endIndex + 1;
    else parser.end();
    page.closeAll();
  }
  return page.toResult();
}

const sliceLength = 64 * 1024;
/**
 * Maximum nesting depth, the same as in Chromium. Deeper elements are parsed as if all open ones were closed: the parser
 * searches its stack at each end tag (120,000 `<b>` before 170,000 `</i>` took 15 s).
 */
const maxDepth = 512;

/** Elements whose content is not text. */
const ignoredTags = new Set(["script", "style", "iframe", "textarea", "noembed", "noframes"]);
/** Elements that are not part of the content. Included if they have no end tag, since they may then enclose the content. */
const skippedTags = new Set("nav select button dialog svg math template noscript".split(" "));
const blockTags = new Set(
  "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table tbody tfoot thead tr ul".split(
    " ",
  ),
);
const paragraphTags = new Set(
  "article blockquote dl figure h1 h2 h3 h4 h5 h6 hr main ol p pre section table ul".split(" "),
);

const codeFence = "```\n";

/** The state of the writer, except the pieces themselves. */
interface WriterState {
  readonly pieceCount: number;
  readonly pendingBreaks: number;
  readonly hasPendingSpace: boolean;
  readonly preDepth: number;
  readonly link: { href: string; pieceIndex: number } | undefined;
}

class HtmlTextWriter implements Partial<Handler> {
  /** True if the nesting limit was reached. The parser is then paused after a tag. */
  isTooDeep = false;
  readonly #pieces: string[] = [];
  #base: URL;
  #parser: Parser | undefined;
  #depth = 0;
  #title = "";
  #isInTitle = false;
  #isInIgnoredTag = false;
  #preDepth = 0;
  #link: WriterState["link"];
  /** The state at the start of each open element in `skippedTags`. */
  readonly #skippedStarts: WriterState[] = [];
  /** Line breaks to write before the next text. */
  #pendingBreaks = 0;
  #hasPendingSpace = false;

  constructor(base: URL) {
    this.#base = base;
  }

  onparserinit(parser: Parser): void {
    this.#parser = parser;
  }

  ontext(text: string): void {
    if (this.#isInTitle) this.#title += text;
    else if (!this.#isInIgnoredTag) this.#write(text);
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    this.#depth += 1;
    if (ignoredTags.has(name)) {
      this.#isInIgnoredTag = true;
      return;
    }
    if (this.#depth > maxDepth) {
      this.isTooDeep = true;
      this.#parser?.pause();
    }
    if (skippedTags.has(name)) this.#skippedStarts.push(this.#saveState());
    this.#breakAround(name);
    if (name === "title") this.#isInTitle = this.#title === "" && this.#skippedStarts.length === 0;
    else if (name === "br") this.#requestBreaks(1);
    else if (name === "li") this.#writeMarkup("- ");
    else if (name === "hr") this.#writeMarkup("---");
    else if (name === "td" || name === "th") this.#startCell();
    else if (name === "a")
      this.#link = { href: attributes["href"] ?? "", pieceIndex: this.#pieces.length };
    else if (name === "img") this.#writeImage(attributes["alt"] ?? "");
    else if (name === "base")
      this.#base = URL.parse(attributes["href"] ?? "", this.#base.href) ?? this.#base;
    else if (name === "pre") {
      this.#writeMarkup(codeFence);
      this.#preDepth += 1;
    } else if (/^h[1-6]$/.test(name)) this.#writeMarkup(`${"#".repeat(Number(name[1]))} `);
  }

  onclosetag(name: string, isImplied: boolean): void {
    this.#depth -= 1;
    if (ignoredTags.has(name)) this.#isInIgnoredTag = false;
    else if (name === "title") this.#isInTitle = false;
    else if (name === "a") this.#endLink();
    else if (name === "pre") this.#endPre();
    else if (skippedTags.has(name)) {
      const start = this.#skippedStarts.pop();
      if (!isImplied && start !== undefined) this.#restoreState(start);
    }
    this.#breakAround(name);
  }

  /** Closes all open elements. */
  closeAll(): void {
    this.isTooDeep = false;
    this.#depth = 0;
    this.#skippedStarts.length = 0;
    this.#isInTitle = this.#isInIgnoredTag = false;
    this.#endLink();
    while (this.#preDepth > 0) this.#endPre();
  }

  toResult(): { title: string; text: string } {
    const lines = this.#pieces.join("").split("\n");
    const text = lines.map((line) => line.trimEnd()).join("\n");
    const title = this.#title.replace(/\s+/g, " ").trim().slice(0, 300);
    return { title, text: text.replace(/\n{3,}/g, "\n\n").trim() };
  }

  #saveState(): WriterState {
    return {
      pieceCount: this.#pieces.length,
      pendingBreaks: this.#pendingBreaks,
      hasPendingSpace: this.#hasPendingSpace,
      preDepth: this.#preDepth,
      link: this.#link,
    };
  }

  #restoreState({ pieceCount, pendingBreaks, hasPendingSpace, preDepth, link }: WriterState): void {
    this.#pieces.length = pieceCount;
    this.#pendingBreaks = pendingBreaks;
    this.#hasPendingSpace = hasPendingSpace;
    this.#preDepth = preDepth;
    this.#link = link;
  }

  #breakAround(name: string): void {
    if (blockTags.has(name)) this.#requestBreaks(paragraphTags.has(name) ? 2 : 1);
  }

  #requestBreaks(count: number): void {
    this.#pendingBreaks = Math.max(this.#pendingBreaks, count);
    this.#hasPendingSpace = false;
  }

  /** Writes text that is not part of the page. */
  #writeMarkup(content: string): void {
    this.#flush();
    this.#pieces.push(content);
  }

  #startCell(): void {
    if (this.#pendingBreaks === 0 && this.#pieces.length > 0) this.#writeMarkup(" | ");
    this.#hasPendingSpace = false;
  }

  #writeImage(alt: string): void {
    const content = alt.replace(/\s+/g, " ").trim();
    if (content !== "") this.#write(`[image: ${content}]`);
  }

  #write(text: string): void {
    if (this.#preDepth > 0) {
      this.#flush();
      // A line break directly after `<pre>` is not part of the text.
      this.#pieces.push(this.#pieces.at(-1) === codeFence ? text.replace(/^\r?\n/, "") : text);
      return;
    }
    const content = text.replace(/\s+/g, " ");
    if (content.startsWith(" ")) this.#hasPendingSpace = true;
    const trimmed = content.trim();
    if (trimmed === "") return;
    this.#flush();
    this.#pieces.push(trimmed);
    this.#hasPendingSpace = content.endsWith(" ");
  }

  #flush(): void {
    if (this.#pendingBreaks > 0 && this.#pieces.length > 0)
      this.#pieces.push("\n".repeat(this.#pendingBreaks));
    else if (this.#hasPendingSpace && this.#pieces.length > 0) this.#pieces.push(" ");
    this.#pendingBreaks = 0;
    this.#hasPendingSpace = false;
  }

  #endPre(): void {
    this.#preDepth -= 1;
    this.#requestBreaks(1);
    this.#writeMarkup("```");
    this.#requestBreaks(2);
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined || !URL.canParse(link.href, this.#base.href)) return;
    const { href, protocol } = new URL(link.href, this.#base);
    if (protocol !== "http:" && protocol !== "https:") return;
    const content = this.#pieces.splice(link.pieceIndex).join("");
    const start = content.length - content.trimStart().length;
    const label = content.slice(start);
    if (label === "" || link.href.startsWith("#")) this.#pieces.push(content);
    else this.#pieces.push(content.slice(0, start), `[${label}](${href})`);
  }
}
