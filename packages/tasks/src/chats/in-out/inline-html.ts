import { escaped } from "./escape-html.ts";
import { isLink } from "./markdown-text.ts";

/** What a `[^n]` becomes; undefined: it stays text. */
export type Cite = (n: number) => string | undefined;

/**
 * No form can hold the character that begins another of its kind, so that every character is looked at a few times at the
 * most, whatever a model has written.
 */
const forms =
  /(?<ticks>`+)|\\(?<escape>[!-/:-@[-`{-~])|\[\^(?<n>[1-9]\d{0,8})\]|!?\[(?<label>[^[\]]*)\]\(<?(?<url>[^\s()<>[\]]*(?:\([^\s()<>[\]]*\)[^\s()<>[\]]*)*)>?\)|(?<bare>https?:\/\/[^\s<>"'`*[\]]*[^\s<>"'`*[\].,;:!?)}_])|(?<stars>\*{1,2}|(?<!~)~~(?!~))|(?<br><[bB][rR] ?\/?>)/g;

/** Code, bold, italics, what is struck out, links, references and line breaks within a paragraph. */
export function inlineHtml(text: string, cite: Cite): string {
  const closings = closingTicks(text);
  const emphasis = new Emphasis();
  const { html } = emphasis;
  let at = 0;
  for (const match of text.matchAll(forms)) {
    const { 0: whole, index, groups = {} } = match;
    // Within code that came before.
    if (index < at) continue;
    const { ticks, escape, n, label, url = "", bare, stars, br } = groups;
    html.push(escaped(text.slice(at, index)));
    at = index + whole.length;
    if (ticks !== undefined) {
      const end = closings.get(index);
      if (end === undefined) html.push(escaped(whole));
      else {
        html.push(`<code>${escaped(text.slice(at, end).replaceAll("\n", " "))}</code>`);
        at = end + ticks.length;
      }
    } else if (escape !== undefined) html.push(escaped(escape));
    else if (n !== undefined) html.push(cite(Number(n)) ?? escaped(whole));
    else if (label !== undefined)
      html.push(
        isLink(url)
          ? linkTo(
              url,
              inlineHtml(label || url, () => undefined),
            )
          : escaped(whole),
      );
    else if (bare !== undefined) html.push(linkTo(bare, escaped(bare)));
    else if (stars !== undefined) emphasis.stars(stars, text.charAt(index - 1), text.charAt(at));
    else if (br !== undefined) html.push("<br>");
  }
  return html.join("") + escaped(text.slice(at));
}

export function linkTo(url: string, html: string): string {
  return `<a href="${escaped(url)}" rel="noopener noreferrer nofollow">${html}</a>`;
}

/** For every run of backticks the place of the next one as long. */
function closingTicks(text: string): Map<number, number> {
  const closings = new Map<number, number>();
  const next = new Map<number, number>();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    const closing = next.get(run.length);
    if (closing !== undefined) closings.set(index, closing);
    next.set(run.length, index);
  }
  return closings;
}

const tags: Readonly<Record<string, string>> = { "*": "em", "**": "strong", "~~": "del" };

/** An opening star is a star until its partner comes. */
class Emphasis {
  readonly html: string[] = [];
  #open: { stars: string; at: number }[] = [];

  stars(stars: string, before: string, after: string): void {
    const opener = this.#open.findIndex((one) => one.stars === stars);
    const place = this.#open[opener];
    this.html.push(stars);
    if (place !== undefined && before.trim() !== "") {
      this.#open = this.#open.slice(0, opener);
      this.html[place.at] = `<${tags[stars] ?? ""}>`;
      this.html[this.html.length - 1] = `</${tags[stars] ?? ""}>`;
    } else if (after.trim() !== "") {
      this.#open = this.#open.filter((one) => one.stars !== stars);
      this.#open.push({ stars, at: this.html.length - 1 });
    }
  }
}
