export type {
  MarkdownBlock,
  HeadingLevel,
  MarkdownInline,
  ListItem,
  MarkRange,
  ColumnAlign,
} from "./ast.ts";
export { StreamingMarkdown, parseMarkdown } from "./streaming-markdown.ts";
export { markCitations } from "./citation-marks.ts";
export { markdownToText } from "./markdown-to-text.ts";
