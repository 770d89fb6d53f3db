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
 * Where we differ from CommonMark on purpose: the numbers of the examples, by reason. docs/markdown.md says the same in
 * words.
 */
export const deviations: readonly {
  readonly reason: string;
  readonly examples: readonly number[];
}[] = [
  {
    reason:
      "A line at the left edge never continues the paragraph of a quote or an item: models write a quote and go on below it without a blank line.",
    examples: [93, 232, 233, 238, 247, 250, 251, 290, 292, 293],
  },
  {
    reason: "A comment is not shown, and is not kept in the blocks.",
    examples: [177, 179, 183, 308, 309, 625, 626],
  },
  {
    reason: "Addresses without brackets are links, as in GFM.",
    examples: [602, 608, 611, 612],
  },
  {
    reason:
      "Markdown within a tag that HTML does not know is read: models write `<answer>` around what they say.",
    examples: [163],
  },
  {
    reason:
      "A definition whose destination is a plain word is none: `[Ann]: Hello` is what somebody says, and would not be shown.",
    examples: [203, 204],
  },
  {
    reason:
      "Three columns are enough to be in an item whose number has several digits: models do not count the digits.",
    examples: [297],
  },
  {
    reason:
      "Of the 2,125 entities of HTML only those of HTML 4 and some more are known: all of them would add 9.5 KB to the page.",
    examples: [25],
  },
  { reason: "A star between two digits is a product.", examples: [356] },
  { reason: "A link or a picture without a text shows where it leads.", examples: [484, 581] },
];
