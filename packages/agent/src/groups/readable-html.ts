import { setImmediate } from "node:timers/promises";
import type { Handler, Parser } from "htmlparser2";

/**
 * Returns what a person would read of an HTML page, as plain text with a little Markdown: headings, lists, links, code.
 * Parses in slices and gives the event loop a turn after each.
 */
export async function readableHtml(
  html: string,
  base: URL,
): Promise<{ title: string; text: string }> {
  const htmlparser2 = await import("htmlparser2"); // with the first page, not at the start of the process
  const page = new PageText(base);
  for (let at = 0; at < html.length;) {
    const parser = new htmlparser2.Parser(page);
    const start = at;
    while (at < html.length && !page.isTooDeep) {
      parser.write(html.slice(at, at + sliceLength));
      at += sliceLength;
      await setImmediate();
    }
    if (page.isTooDeep) at = start + parser.endIndex + 1;
    else parser.end();
    page.closeAll();
  }
  return page.result();
}

const sliceLength = 64 * 1024;
/**
 * Elements that are open at once, as in Chromium. Deeper ones are parsed as if all around them were closed: the parser
 * searches its stack at each end tag (120,000 `<b>` before 170,000 `</i>` took it 15 s).
 */
const maxDepth = 512;

/** Never read: what is inside them is no text. */
const withoutText = new Set(["script", "style", "iframe", "textarea", "noembed", "noframes"]);
/** Not what one came for. They are read all the same if they have no end tag, since the page may be inside. */
const leftOut = new Set("nav select button dialog svg math template noscript".split(" "));
const blocks = new Set(
  "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table tbody tfoot thead tr ul".split(
    " ",
  ),
);
const paragraphs = new Set(
  "article blockquote dl figure h1 h2 h3 h4 h5 h6 hr main ol p pre section table ul".split(" "),
);

const codeStart = "```\n";

/** What has been written of a page, apart from the pieces themselves. */
interface Position {
  readonly pieces: number;
  readonly breaks: number;
  readonly blank: boolean;
  readonly pre: number;
  readonly link: { href: string; at: number } | undefined;
}

class PageText implements Partial<Handler> {
  /** The parser was paused behind a tag. */
  isTooDeep = false;
  readonly #pieces: string[] = [];
  #base: URL;
  #parser: Parser | undefined;
  #depth = 0;
  #title = "";
  #inTitle = false;
  #inWithoutText = false;
  #pre = 0;
  #link: Position["link"];
  /** Where each open element began that is left out. */
  readonly #leftOut: Position[] = [];
  /** Line ends that are due before the next text. */
  #breaks = 0;
  #blank = false;

  constructor(base: URL) {
    this.#base = base;
  }

  onparserinit(parser: Parser): void {
    this.#parser = parser;
  }

  ontext(text: string): void {
    if (this.#inTitle) this.#title += text;
    else if (!this.#inWithoutText) this.#write(text);
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    this.#depth += 1;
    if (withoutText.has(name)) {
      this.#inWithoutText = true;
      return;
    }
    if (this.#depth > maxDepth) {
      this.isTooDeep = true;
      this.#parser?.pause();
    }
    if (leftOut.has(name)) this.#leftOut.push(this.#position());
    this.#break(name);
    if (name === "title") this.#inTitle = this.#title === "" && this.#leftOut.length === 0;
    else if (name === "br") this.#newLine(1);
    else if (name === "li") this.#mark("- ");
    else if (name === "hr") this.#mark("---");
    else if (name === "td" || name === "th") this.#cell();
    else if (name === "a") this.#link = { href: attributes["href"] ?? "", at: this.#pieces.length };
    else if (name === "img") this.#image(attributes["alt"] ?? "");
    else if (name === "base")
      this.#base = URL.parse(attributes["href"] ?? "", this.#base.href) ?? this.#base;
    else if (name === "pre") {
      this.#mark(codeStart);
      this.#pre += 1;
    } else if (/^h[1-6]$/.test(name)) this.#mark(`${"#".repeat(Number(name[1]))} `);
  }

  onclosetag(name: string, isImplied: boolean): void {
    this.#depth -= 1;
    if (withoutText.has(name)) this.#inWithoutText = false;
    else if (name === "title") this.#inTitle = false;
    else if (name === "a") this.#endLink();
    else if (name === "pre") this.#endPre();
    else if (leftOut.has(name)) {
      const start = this.#leftOut.pop();
      if (!isImplied && start !== undefined) this.#returnTo(start);
    }
    this.#break(name);
  }

  /** As if the page ended here. */
  closeAll(): void {
    this.isTooDeep = false;
    this.#depth = 0;
    this.#leftOut.length = 0;
    this.#inTitle = this.#inWithoutText = false;
    this.#endLink();
    while (this.#pre > 0) this.#endPre();
  }

  result(): { title: string; text: string } {
    const lines = this.#pieces.join("").split("\n");
    const text = lines.map((line) => line.trimEnd()).join("\n");
    const title = this.#title.replace(/\s+/g, " ").trim().slice(0, 300);
    return { title, text: text.replace(/\n{3,}/g, "\n\n").trim() };
  }

  #position(): Position {
    return {
      pieces: this.#pieces.length,
      breaks: this.#breaks,
      blank: this.#blank,
      pre: this.#pre,
      link: this.#link,
    };
  }

  #returnTo({ pieces, breaks, blank, pre, link }: Position): void {
    this.#pieces.length = pieces;
    this.#breaks = breaks;
    this.#blank = blank;
    this.#pre = pre;
    this.#link = link;
  }

  #break(name: string): void {
    if (blocks.has(name)) this.#newLine(paragraphs.has(name) ? 2 : 1);
  }

  #newLine(count: number): void {
    this.#breaks = Math.max(this.#breaks, count);
    this.#blank = false;
  }

  /** Words that the page does not have itself. */
  #mark(words: string): void {
    this.#flush();
    this.#pieces.push(words);
  }

  #cell(): void {
    if (this.#breaks === 0 && this.#pieces.length > 0) this.#mark(" | ");
    this.#blank = false;
  }

  #image(alt: string): void {
    const words = alt.replace(/\s+/g, " ").trim();
    if (words !== "") this.#write(`[image: ${words}]`);
  }

  #write(text: string): void {
    if (this.#pre > 0) {
      this.#flush();
      // A line end right behind `<pre>` is not part of the text.
      this.#pieces.push(this.#pieces.at(-1) === codeStart ? text.replace(/^\r?\n/, "") : text);
      return;
    }
    const words = text.replace(/\s+/g, " ");
    if (words.startsWith(" ")) this.#blank = true;
    const bare = words.trim();
    if (bare === "") return;
    this.#flush();
    this.#pieces.push(bare);
    this.#blank = words.endsWith(" ");
  }

  #flush(): void {
    if (this.#breaks > 0 && this.#pieces.length > 0) this.#pieces.push("\n".repeat(this.#breaks));
    else if (this.#blank && this.#pieces.length > 0) this.#pieces.push(" ");
    this.#breaks = 0;
    this.#blank = false;
  }

  #endPre(): void {
    this.#pre -= 1;
    this.#newLine(1);
    this.#mark("```");
    this.#newLine(2);
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined || !URL.canParse(link.href, this.#base.href)) return;
    const { href, protocol } = new URL(link.href, this.#base);
    if (protocol !== "http:" && protocol !== "https:") return;
    const words = this.#pieces.splice(link.at).join("");
    const start = words.length - words.trimStart().length;
    const label = words.slice(start);
    if (label === "" || link.href.startsWith("#")) this.#pieces.push(words);
    else this.#pieces.push(words.slice(0, start), `[${label}](${href})`);
  }
}
