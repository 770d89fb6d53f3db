/** Texts on which one parser or another took time that grows faster than the text, of about so many characters. */
export function hostileMarkdown(size: number): Record<string, string> {
  const repeated = (piece: string) => piece.repeat(Math.ceil(size / piece.length));
  const lines = Math.ceil(Math.sqrt(size));
  const sqrt = Array.from({ length: lines }, (_, at) => at);
  const numbered = (piece: (nth: number) => string, share = 1) =>
    Array.from({ length: Math.ceil((size * share) / piece(10_000).length) }, (_, nth) =>
      piece(nth),
    ).join("");
  const define = (nth: number) => `[l${nth}]: https://b.c/${nth}\n`;
  return {
    brackets: repeated("["),
    pictures: repeated("!["),
    stars: repeated("*a "),
    "stars and underscores": repeated("**a_"),
    backticks: repeated("a`"),
    "growing backticks": sqrt.map((at) => `${"`".repeat(at + 1)}a`).join(""),
    quotes: repeated(">"),
    "nested lists": sqrt.map((at) => `${" ".repeat(at)}- a`).join("\n"),
    "items on one line": repeated("- "),
    tags: repeated("<a "),
    comments: repeated("<!--"),
    "wide table": `${repeated("|a")}\n${repeated("|-")}`,
    "many rows": `|a|b|\n|-|-|\n${repeated("|`a|**b\n")}`,
    links: repeated("[a]("),
    "links with titles": repeated('[a](b "'),
    "brackets closed": `${repeated("[")}${repeated("a](https://b.c)")}`,
    "struck out": repeated("~~a "),
    addresses: repeated("http://a."),
    "closed addresses": repeated("http://a)"),
    mail: repeated("a@"),
    ampersands: repeated("&"),
    backslashes: repeated("\\"),
    "a long word": repeated("x"),
    hashes: repeated("#"),
    blanks: `a${repeated(" ")}b`,
    "blank lines": `- a\n${repeated("\n")}b`,
    dollars: repeated("$a"),
    "two dollars": repeated("$$ a\n"),
    parentheses: repeated(String.raw`\(a`),
    fences: repeated("```\na\n"),
    "open emphasis": repeated("*a **b _c ~~d "),
    "closed emphasis": `${repeated("*a **b ")}${repeated("c** d* ")}`,
    "labels that nobody defines": numbered((nth) => `[l${nth}] `),
    "labels in brackets": `${repeated("[a ")}${repeated("]")}\n\n[a]: https://b.c`,
    "one label": `${repeated("[a]")}\n\n[a]: https://b.c`,
    "the same labels over and over": `${numbered((nth) => `[l${nth % 600}] `)}\n\n${numbered(define, 1 / 8)}`,
    "labels in items": `${numbered((nth) => `- [l${nth}]\n`, 1 / 3)}\n${numbered(define)}`,
    "labels in rows": `|a|\n|-|\n${numbered((nth) => `|[l${nth}]|\n`, 1 / 3)}\n${numbered(define)}`,
    "labels in nested lists": `${sqrt.map((at) => `${" ".repeat(at)}- [a] [l${at}]`).join("\n")}\n${numbered(define)}[a]: https://b.c`,
    "labels without an end": repeated("[a\n"),
    "titles without an end, over and over": repeated('[a]: https://b.c "\n\n'),
    "backslashes in labels": repeated(String.raw`][\[\]`),
  };
}
