import type { TextBlock } from "@deltawire/tasks";
import { GrowingMarkdown, withCites } from "@deltawire/tasks/markdown";
import { drawnWords } from "./markdown-words.ts";

/** What is read of a text where it is drawn, in pieces that stand apart. `growing`: more may come, as when it is drawn. */
export type ReadMarkdown = typeof readMarkdown;

export function readMarkdown(
  { text, annotations = [] }: Pick<TextBlock, "text" | "annotations">,
  growing: boolean,
): string[] {
  const markdown = new GrowingMarkdown();
  markdown.push(withCites(text, annotations, growing));
  if (!growing) markdown.end();
  return drawnWords([...markdown.frozen, ...markdown.open]);
}
