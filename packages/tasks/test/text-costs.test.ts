import { Annotator } from "../src/markdown/annotator.ts";
import { bareType, readDataUrl } from "../src/data-url.ts";
import { GrowingMarkdown, parseMarkdown } from "../src/markdown/growing-markdown.ts";
import { parseInline } from "../src/markdown/inline.ts";
import { plainText } from "../src/markdown/plain-text.ts";
import { withoutMarkers, withoutReferences } from "../src/references.ts";
import { defusedText } from "../src/reference-wrapper.ts";
import { pieces, testTextCosts } from "../../../test/text-costs.ts";

/* Functions that read text of providers, models and tools. */

testTextCosts({
  parseMarkdown: (text) => parseMarkdown(text),
  "GrowingMarkdown, in eight pieces": (text) => readMarkdown(text),
  parseInline: (text) => [
    parseInline(text, true, () => undefined),
    parseInline(text, false, () => ({ destination: "https://example.com" })),
  ],
  plainText: (text) => plainText(text),
  "Annotator, in pieces": (text) => readAnnotated(pieces(text)),
  "references in texts": (text) => [withoutMarkers(text), withoutReferences([text, text])],
  defusedText: (text) => [defusedText(text), defusedText(text, true)],
  "data URLs and media types": (text) => [readDataUrl(`data:${text}`), bareType(text)],
});

function readMarkdown(text: string): void {
  const markdown = new GrowingMarkdown();
  for (let part = 1; part <= 8; part += 1) markdown.push(text.slice(0, (text.length * part) / 8));
  markdown.end();
}

function readAnnotated(deltas: readonly string[]): void {
  const annotator = new Annotator(() => true);
  for (const delta of deltas) annotator.push(delta);
  annotator.end();
}
