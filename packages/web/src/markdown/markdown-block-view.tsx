import { assertNever } from "@deltawire/tasks";
import { memo, useContext } from "react";
import type { MarkdownBlock, ListItem } from "@deltawire/tasks/markdown";
import { chunk } from "../chunk.ts";
import { shallowEqual } from "../shallow-equal.ts";
import { useMessages } from "../messages/use-messages.ts";
import { CodeBlock } from "./code-block.tsx";
import { Formula } from "./formula.tsx";
import { renderInline } from "./render-inline.tsx";
import { TableView } from "./table-view.tsx";
import { markdownMessages } from "./messages.ts";
import { getFootnoteId, FootnoteScopeContext, scrollToElement } from "./footnote-reference.tsx";

/** How many items of a list, or blocks of a quote, re-render together. */
const itemsPerChunk = 40;

interface MarkdownBlockViewProps {
  block: MarkdownBlock;
  /** HTML level of a heading. */
  rank?: number | undefined;
  /** True inside a block that sets the text direction. */
  isNested?: boolean | undefined;
}

/** Re-renders only if it receives a different block object. */
export const MarkdownBlockView = memo(function MarkdownBlockView({
  block,
  rank = 6,
  isNested,
}: MarkdownBlockViewProps) {
  const dir = isNested ? undefined : "auto";
  switch (block.type) {
    case "paragraph":
      return <p dir={dir}>{renderInline(block.inline)}</p>;
    case "heading": {
      const Heading = `h${rank}` as "h3";
      return (
        <Heading className="markdown-heading" data-level={block.level} dir={dir}>
          {renderInline(block.inline)}
        </Heading>
      );
    }
    case "code":
      return (
        <CodeBlock
          language={block.language}
          text={block.text}
          closed={block.closed}
          marks={block.marks}
        />
      );
    case "math":
      return <Formula text={block.text} display isComplete={block.closed} />;
    case "quote":
      return (
        <blockquote className="markdown-quote" dir={dir}>
          {chunk(block.blocks, itemsPerChunk).map(({ start, items }) => (
            <BlockChunk key={start} blocks={items} />
          ))}
        </blockquote>
      );
    case "details":
      return <DetailsView block={block} dir={dir} />;
    case "footnote":
      return <Footnote note={block} dir={dir} />;
    case "list":
      return (
        <div className="markdown-list">
          {chunk(block.items, itemsPerChunk).map(({ start, items }) => (
            <ListChunk
              key={start}
              items={items}
              ordered={block.ordered}
              start={block.start + start}
            />
          ))}
        </div>
      );
    case "table":
      return <TableView table={block} />;
    case "rule":
      return <hr className="markdown-rule" />;
    default:
      return assertNever(block);
  }
});

interface DetailsProps {
  block: MarkdownBlock & { type: "details" };
  dir: "auto" | undefined;
}

function DetailsView({ block, dir }: DetailsProps) {
  const t = useMessages(markdownMessages);
  const { summary, open, blocks } = block;
  return (
    <details className="markdown-details" open={open} dir={dir}>
      <summary>{summary.length === 0 ? t.details : renderInline(summary)}</summary>
      {chunk(blocks, itemsPerChunk).map(({ start, items }) => (
        <BlockChunk key={start} blocks={items} />
      ))}
    </details>
  );
}

const BlockChunk = memo(
  function BlockChunk({ blocks }: { blocks: readonly MarkdownBlock[] }) {
    return blocks.map((block, index) => <MarkdownBlockView key={index} block={block} isNested />);
  },
  (previous, next) => shallowEqual(previous.blocks, next.blocks),
);

interface ListChunkProps {
  items: readonly ListItem[];
  ordered: boolean;
  start: number;
}

/** A long list is split into several lists, so that only the last one is laid out again while the list grows. */
const ListChunk = memo(
  function ListChunk({ items, ordered, start }: ListChunkProps) {
    const listItems = items.map((item, index) => <ListItemView key={index} item={item} />);
    return ordered ? <ol start={start}>{listItems}</ol> : <ul>{listItems}</ul>;
  },
  (previous, next) =>
    previous.ordered === next.ordered &&
    previous.start === next.start &&
    shallowEqual(previous.items, next.items),
);

const ListItemView = memo(function ListItemView({ item }: { item: ListItem }) {
  const t = useMessages(markdownMessages);
  const { blocks, tight, checked } = item;
  return (
    <li
      dir="auto"
      data-tight={tight || undefined}
      data-checkbox={checked === undefined ? undefined : ""}
    >
      {checked !== undefined && (
        <span
          className="markdown-checkbox"
          role="img"
          aria-label={checked ? t.done : t.notDone}
          data-checked={checked || undefined}
        />
      )}
      {blocks.map((block, index) => (
        <MarkdownBlockView key={index} block={block} isNested />
      ))}
    </li>
  );
});

interface FootnoteProps {
  note: MarkdownBlock & { type: "footnote" };
  dir: "auto" | undefined;
}

function Footnote({ note, dir }: FootnoteProps) {
  const t = useMessages(markdownMessages);
  const { label, inline } = note;
  const id = getFootnoteId(useContext(FootnoteScopeContext), label);
  const findReference = () =>
    document.querySelector<HTMLElement>(`[data-footnote="${CSS.escape(id)}"] a`);
  return (
    <div className="markdown-footnote" id={id} role="note" tabIndex={-1} dir={dir}>
      <sup>{label}</sup> {renderInline(inline)}{" "}
      <a
        href={`#${id}`}
        aria-label={t.back}
        onClick={(event) => scrollToElement(event, findReference())}
      >
        ↩
      </a>
    </div>
  );
}
