import spec from "commonmark-spec";

export interface Example {
  readonly number: number;
  readonly section: string;
  readonly markdown: string;
  readonly html: string;
}

/** The examples of CommonMark 0.31.2. */
export const commonMarkExamples: readonly Example[] = spec.tests.map((example) => ({
  ...example,
  markdown: example.markdown.replaceAll("→", "\t"),
  html: example.html.replaceAll("→", "\t"),
}));

/**
 * Intentional deviations from CommonMark: the numbers of the examples, by reason. The README of the package describes them.
 */
export const deviations: readonly {
  readonly reason: string;
  readonly examples: readonly number[];
}[] = [
  {
    reason:
      "An unindented line never continues the paragraph of a quote or an item: models write a quote and then other text without a blank line.",
    examples: [93, 232, 233, 238, 247, 250, 251, 290, 292, 293],
  },
  {
    reason: "Comments are removed.",
    examples: [177, 179, 183, 308, 309, 625, 626],
  },
  {
    reason: "Bare URLs are links, as in GFM.",
    examples: [602, 608, 611, 612],
  },
  {
    reason: "Markdown inside of unknown tags is parsed: models write `<answer>` around their text.",
    examples: [163],
  },
  {
    reason:
      "A definition with a plain word as its destination is text: `[Ann]: Hello` is dialogue, which would not be shown.",
    examples: [203, 204],
  },
  {
    reason:
      "An indentation of three is enough for an item with a number of several digits: models do not count the digits.",
    examples: [297],
  },
  {
    reason:
      "Of the 2,125 entities of HTML, only those of HTML 4 and some more are supported: all of them would add 9.5 KB to the page.",
    examples: [25],
  },
  { reason: "An asterisk between two digits is a product.", examples: [356] },
  { reason: "A link or image without a text shows its destination.", examples: [484, 581] },
];
