import { memo, useId, useState, type ReactNode } from "react";
import type { Annotation, TextBlock } from "@deltawire/tasks";
import { StreamingMarkdown, markCitations, type MarkdownBlock } from "@deltawire/tasks/markdown";
import { MarkdownBlockView } from "./markdown-block-view.tsx";
import { FootnoteScopeContext } from "./footnote-reference.tsx";
import { CitationContext, MarkTitleContext } from "./render-inline.tsx";
import {
  getHeadingRanks,
  MarkdownSections,
  baseHeadingRank,
  type MarkdownSection,
} from "./markdown-sections.ts";
import "./markdown.css";
import "./code-colors.css";
import { blocksToRenderedText } from "./markdown-text.ts";

export interface MarkdownProps {
  text: string;
  annotations?: readonly Annotation[] | undefined;
  /** True while more text may follow: unfinished syntax at the end is rendered as if it were complete. */
  isStreaming: boolean;
  renderCitation?: ((reference: number, resolved: boolean) => ReactNode) | undefined;
}

/** Uses the same elements and keys for streaming and complete text, so that React remounts none of them. */
export const Markdown = memo(function Markdown({
  text,
  annotations = noAnnotations,
  isStreaming,
  renderCitation,
}: MarkdownProps) {
  const [markdownSections] = useState(() => new MarkdownSections());
  const sections = markdownSections.update(
    markCitations(text, annotations, isStreaming),
    isStreaming,
  );
  return (
    <CitationContext value={renderCitation}>
      <FootnoteScopeContext value={useId()}>
        <div className="markdown">
          {sections.map((section, index) => (
            <MarkdownSectionView key={index} section={section} />
          ))}
        </div>
      </FootnoteScopeContext>
    </CitationContext>
  );
});

export interface MarkdownBlocksProps extends Pick<MarkdownProps, "renderCitation"> {
  blocks: readonly MarkdownBlock[];
  /** Tooltip of the marks. */
  markTitle: string;
}

/** Renders parsed Markdown with marks. */
export function MarkdownBlocks({ blocks, markTitle, renderCitation }: MarkdownBlocksProps) {
  return (
    <CitationContext value={renderCitation}>
      <MarkTitleContext value={markTitle}>
        <FootnoteScopeContext value={useId()}>
          <div className="markdown">
            <MarkdownSectionView section={{ blocks, previousRank: baseHeadingRank }} />
          </div>
        </FootnoteScopeContext>
      </MarkTitleContext>
    </CitationContext>
  );
}

const noAnnotations: readonly Annotation[] = [];

const MarkdownSectionView = memo(function MarkdownSectionView({
  section,
}: {
  section: MarkdownSection;
}) {
  const ranks = getHeadingRanks(section);
  return (
    <div className="markdown-section">
      {section.blocks.map((block, index) => (
        <MarkdownBlockView key={index} block={block} rank={ranks[index]} />
      ))}
    </div>
  );
});

export type MarkdownToTextPieces = typeof markdownToTextPieces;

/** Returns the text of Markdown as rendered, in the pieces of `blocksToRenderedText`. */
export function markdownToTextPieces(
  { text, annotations = [] }: Pick<TextBlock, "text" | "annotations">,
  isStreaming: boolean,
): string[] {
  const markdown = new StreamingMarkdown();
  markdown.push(markCitations(text, annotations, isStreaming));
  if (!isStreaming) markdown.end();
  return blocksToRenderedText([...markdown.frozenBlocks, ...markdown.openBlocks]);
}
