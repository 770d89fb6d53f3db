import { decodeEntities } from "./html-entities.ts";

/**
 * What a person would read of a page, as plain text with a little Markdown: headings, lists, links, code. No parser of
 * HTML, but one that no page can make slow: every character is looked at once.
 */
export function readableHtml(html: string, base: URL): { title: string; text: string } {
  const page = new PageText(base);
  let at = 0;
  while (at < html.length) {
    markupStart.lastIndex = at;
    const open = markupStart.exec(html)?.index ?? -1;
    if (open === -1) {
      page.text(html.slice(at));
      break;
    }
    if (open > at) page.text(html.slice(at, open));
    at = page.markup(html, open);
  }
  return page.result();
}

/** What is inside them is no text, and may contain `<`. */
const raw = new Set([
  "script",
  "style",
  "template",
  "noscript",
  "iframe",
  "textarea",
  "svg",
  "math",
]);
/** Not what one came for. */
const passedOver = new Set(["nav", "select", "button", "dialog"]);
const blocks = new Set(
  "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table tbody tfoot thead tr ul".split(
    " ",
  ),
);
const paragraphs = new Set(
  "article blockquote dl figure h1 h2 h3 h4 h5 h6 hr main ol p pre section table ul".split(" "),
);

class PageText {
  readonly #base: URL;
  readonly #pieces: string[] = [];
  #title = "";
  #inTitle = false;
  #pre = 0;
  #passedOver: { name: string; depth: number } | undefined;
  #link: { href: string; at: number } | undefined;
  /** Line ends that are due before the next text. */
  #breaks = 0;
  #blank = false;

  constructor(base: URL) {
    this.#base = base;
  }

  text(source: string): void {
    const text = decodeEntities(source);
    if (this.#inTitle) this.#title += text;
    else if (this.#passedOver === undefined) this.#write(text);
  }

  /** Reads the tag or comment that stands at `open`; answers where it ends. */
  markup(html: string, open: number): number {
    if (html.startsWith("<!--", open)) return after(html, "-->", open + 4);
    if (html.startsWith("<!", open) || html.startsWith("<?", open)) return after(html, ">", open);
    tagStart.lastIndex = open;
    const match = tagStart.exec(html);
    if (match === null) return open + 1;
    const end = tagEnd(html, open + match[0].length);
    const name = (match[2] ?? "").toLowerCase();
    if (match[1] === "/") this.#close(name);
    else if (raw.has(name)) return endOfRaw(html, name, end);
    else this.#open(name, html.slice(open, end));
    return end;
  }

  result(): { title: string; text: string } {
    const lines = this.#pieces.join("").split("\n");
    const text = lines.map((line) => line.trimEnd()).join("\n");
    const title = this.#title.replace(/\s+/g, " ").trim().slice(0, 300);
    return { title, text: text.replace(/\n{3,}/g, "\n\n").trim() };
  }

  #open(name: string, tag: string): void {
    if (this.#passedOver !== undefined) {
      if (this.#passedOver.name === name) this.#passedOver.depth += 1;
      return;
    }
    if (passedOver.has(name)) {
      this.#passedOver = { name, depth: 1 };
      return;
    }
    this.#break(name);
    if (name === "title") this.#inTitle = this.#title === "";
    else if (name === "br") this.#newLine(1);
    else if (name === "li") this.#mark("- ");
    else if (name === "hr") this.#mark("---");
    else if (name === "td" || name === "th") this.#blank = this.#cell();
    else if (name === "a") this.#link = { href: attribute(tag, "href"), at: this.#pieces.length };
    else if (name === "img") this.#image(attribute(tag, "alt"));
    else if (name === "pre") {
      this.#mark("```\n");
      this.#pre += 1;
    } else if (/^h[1-6]$/.test(name)) this.#mark(`${"#".repeat(Number(name[1]))} `);
  }

  #close(name: string): void {
    if (this.#passedOver !== undefined) {
      if (this.#passedOver.name === name) this.#passedOver.depth -= 1;
      if (this.#passedOver.depth === 0) this.#passedOver = undefined;
      return;
    }
    if (name === "title") this.#inTitle = false;
    else if (name === "a") this.#endLink();
    else if (name === "pre" && this.#pre > 0) {
      this.#pre -= 1;
      this.#newLine(1);
      this.#mark("```");
    }
    this.#break(name);
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

  #cell(): boolean {
    if (this.#breaks === 0 && this.#pieces.length > 0) this.#mark(" | ");
    return false;
  }

  #image(alt: string): void {
    const words = alt.replace(/\s+/g, " ").trim();
    if (words !== "") this.#write(`[image: ${words}]`);
  }

  #write(text: string): void {
    if (this.#pre > 0) {
      this.#flush();
      this.#pieces.push(text);
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

/** Any other `<` is text. */
const markupStart = /<(?:[A-Za-z!?]|\/[A-Za-z])/g;
const tagStart = /<(\/?)([A-Za-z][^\s/>]*)/y;

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at === -1 ? html.length : at + mark.length;
}

/** The end of a tag, whose quoted attributes may contain `>`. */
function tagEnd(html: string, from: number): number {
  let quote = "";
  let before = "";
  for (let at = from; at < html.length; at += 1) {
    const char = html[at] ?? "";
    if (quote !== "") {
      if (char === quote) quote = "";
    } else if ((char === '"' || char === "'") && before === "=") quote = char;
    else if (char === ">") return at + 1;
    if (!/\s/.test(char)) before = char;
  }
  return html.length;
}

function endOfRaw(html: string, name: string, from: number): number {
  const close = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  close.lastIndex = from;
  const match = close.exec(html);
  return match === null ? html.length : after(html, ">", match.index);
}

function attribute(tag: string, name: string): string {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(
    tag,
  );
  return decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? "").trim();
}
