import { memo, useId, useState, type ReactNode } from "react";
import type { Annotation, TextBlock } from "@deltawire/tasks";
import { GrowingMarkdown, withCites, type Block } from "@deltawire/tasks/markdown";
import { BlockView } from "./block-view.tsx";
import { FootnotesContext } from "./footnote-mark.tsx";
import { CiteContext, MarkContext } from "./inline-view.tsx";
import { ranksOf, Sections, topRank, type Section } from "./sections.ts";
import "./markdown.css";
import "./code-colours.css";
import { drawnWords } from "./markdown-words.ts";

export interface MarkdownProps {
  text: string;
  annotations?: readonly Annotation[] | undefined;
  /** More may come: what has only begun at the end is shown as it will probably be. */
  growing: boolean;
  cite?: ((reference: number, resolved: boolean) => ReactNode) | undefined;
}

/** The same tree and keys while a text grows and when it has ended: nothing is put in place of anything. */
export const Markdown = memo(function Markdown({
  text,
  annotations = none,
  growing,
  cite,
}: MarkdownProps) {
  const [sections] = useState(() => new Sections());
  const all = sections.of(withCites(text, annotations, growing), growing);
  return (
    <CiteContext value={cite}>
      <FootnotesContext value={useId()}>
        <div className="markdown">
          {all.map((section, at) => (
            <SectionView key={at} section={section} />
          ))}
        </div>
      </FootnotesContext>
    </CiteContext>
  );
});

export interface DrawnBlocksProps extends Pick<MarkdownProps, "cite"> {
  blocks: readonly Block[];
  /** What the marks in them say. */
  marked: string;
}

/** Blocks that are read already. */
export function DrawnBlocks({ blocks, marked, cite }: DrawnBlocksProps) {
  return (
    <CiteContext value={cite}>
      <MarkContext value={marked}>
        <FootnotesContext value={useId()}>
          <div className="markdown">
            <SectionView section={{ blocks, above: topRank }} />
          </div>
        </FootnotesContext>
      </MarkContext>
    </CiteContext>
  );
}

const none: readonly Annotation[] = [];

const SectionView = memo(function SectionView({ section }: { section: Section }) {
  const ranks = ranksOf(section);
  return (
    <div className="markdown-section">
      {section.blocks.map((block, at) => (
        <BlockView key={at} block={block} rank={ranks[at]} />
      ))}
    </div>
  );
});

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
