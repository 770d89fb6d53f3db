import { CitationAnnotator } from "../src/markdown/citation-annotator.ts";
import { mediaTypeEssence, parseDataUrl } from "../src/data-url.ts";
import { StreamingMarkdown, parseMarkdown } from "../src/markdown/streaming-markdown.ts";
import { parseInline } from "../src/markdown/inline-parser.ts";
import { markdownToText } from "../src/markdown/markdown-to-text.ts";
import { removeMarkers, removeReferences } from "../src/reference-pool.ts";
import { escapeWrapperTagsInText } from "../src/reference-wrapper.ts";
import { splitIntoChunks, testLinearTime } from "../../../test/linear-time.ts";

/* Functions that process untrusted text of providers, models and tools must take linear time. */

testLinearTime({
  parseMarkdown: (text) => parseMarkdown(text),
  "StreamingMarkdown, in eight steps": (text) => readMarkdown(text),
  parseInline: (text) => [
    parseInline(text, true, () => undefined),
    parseInline(text, false, () => ({ destination: "https://example.com" })),
  ],
  markdownToText: (text) => markdownToText(text),
  "CitationAnnotator, in deltas": (text) => annotate(splitIntoChunks(text)),
  "removeMarkers and removeReferences": (text) => [
    removeMarkers(text),
    removeReferences([text, text]),
  ],
  escapeWrapperTagsInText: (text) => [
    escapeWrapperTagsInText(text),
    escapeWrapperTagsInText(text, true),
  ],
  "data URLs and media types": (text) => [parseDataUrl(`data:${text}`), mediaTypeEssence(text)],
});

function readMarkdown(text: string): void {
  const markdown = new StreamingMarkdown();
  for (let part = 1; part <= 8; part += 1) markdown.push(text.slice(0, (text.length * part) / 8));
  markdown.end();
}

function annotate(deltas: readonly string[]): void {
  const annotator = new CitationAnnotator(() => true);
  for (const delta of deltas) annotator.push(delta);
  annotator.end();
}
