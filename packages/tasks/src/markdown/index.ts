export type { Block, HeadingLevel, Inline, ListItem, Mark, Side } from "./blocks.ts";
export { GrowingMarkdown, parseMarkdown } from "./growing-markdown.ts";
export { withCites } from "./cites.ts";
export { plainText } from "./plain-text.ts";
