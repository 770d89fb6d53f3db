import { memo, useContext } from "react";
import type { Block, ListItem } from "@deltawire/tasks/markdown";
import { unreachable } from "../unreachable.ts";
import { partsOf } from "../parts-of.ts";
import { isSame } from "../same.ts";
import { useWords } from "../words/use-words.ts";
import { CodeBlock } from "./code-block.tsx";
import { Formula } from "./formula.tsx";
import { inlineView } from "./inline-view.tsx";
import { TableView } from "./table-view.tsx";
import { markdownWords } from "./words.ts";
import { footnoteId, FootnotesContext, goWithinPage } from "./footnote-mark.tsx";

/** How many items of a list, or blocks of a quote, are drawn again together. */
const inOnePart = 40;

interface BlockProps {
  block: Block;
  /** Of a heading. */
  rank?: number | undefined;
  /** What holds it has found the direction of its writing. */
  within?: boolean | undefined;
}

/** A block that is the same object is not drawn again. */
export const BlockView = memo(function BlockView({ block, rank = 6, within }: BlockProps) {
  const dir = within ? undefined : "auto";
  switch (block.type) {
    case "paragraph":
      return <p dir={dir}>{inlineView(block.inline)}</p>;
    case "heading": {
      const Heading = `h${rank}` as "h3";
      return (
        <Heading className="markdown-heading" data-level={block.level} dir={dir}>
          {inlineView(block.inline)}
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
      return <Formula text={block.text} display ready={block.closed} />;
    case "quote":
      return (
        <blockquote className="markdown-quote" dir={dir}>
          {partsOf(block.blocks, inOnePart).map(({ from, part }) => (
            <QuotePart key={from} blocks={part} />
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
          {partsOf(block.items, inOnePart).map(({ from, part }) => (
            <ListPart key={from} items={part} ordered={block.ordered} start={block.start + from} />
          ))}
        </div>
      );
    case "table":
      return <TableView table={block} />;
    case "rule":
      return <hr className="markdown-rule" />;
    default:
      return unreachable(block);
  }
});

interface DetailsProps {
  block: Block & { type: "details" };
  dir: "auto" | undefined;
}

function DetailsView({ block, dir }: DetailsProps) {
  const words = useWords(markdownWords);
  const { summary, open, blocks } = block;
  return (
    <details className="markdown-details" open={open} dir={dir}>
      <summary>{summary.length === 0 ? words.details : inlineView(summary)}</summary>
      {partsOf(blocks, inOnePart).map(({ from, part }) => (
        <QuotePart key={from} blocks={part} />
      ))}
    </details>
  );
}

const QuotePart = memo(
  function QuotePart({ blocks }: { blocks: readonly Block[] }) {
    return blocks.map((block, at) => <BlockView key={at} block={block} within />);
  },
  (before, now) => isSame(before.blocks, now.blocks),
);

interface ListPartProps {
  items: readonly ListItem[];
  ordered: boolean;
  start: number;
}

/** A long list is cut at items: only the last part of one that grows is laid out again. */
const ListPart = memo(
  function ListPart({ items, ordered, start }: ListPartProps) {
    const all = items.map((item, at) => <ItemView key={at} item={item} />);
    return ordered ? <ol start={start}>{all}</ol> : <ul>{all}</ul>;
  },
  (before, now) =>
    before.ordered === now.ordered && before.start === now.start && isSame(before.items, now.items),
);

const ItemView = memo(function ItemView({ item }: { item: ListItem }) {
  const words = useWords(markdownWords);
  const { blocks, tight, checked } = item;
  return (
    <li
      dir="auto"
      data-tight={tight || undefined}
      data-box={checked === undefined ? undefined : ""}
    >
      {checked !== undefined && (
        <span
          className="markdown-box"
          role="img"
          aria-label={checked ? words.done : words.notDone}
          data-checked={checked || undefined}
        />
      )}
      {blocks.map((block, at) => (
        <BlockView key={at} block={block} within />
      ))}
    </li>
  );
});

interface FootnoteProps {
  note: Block & { type: "footnote" };
  dir: "auto" | undefined;
}

function Footnote({ note, dir }: FootnoteProps) {
  const words = useWords(markdownWords);
  const { label, inline } = note;
  const id = footnoteId(useContext(FootnotesContext), label);
  const findMark = () =>
    document.querySelector<HTMLElement>(`[data-footnote="${CSS.escape(id)}"] a`);
  return (
    <div className="markdown-footnote" id={id} role="note" tabIndex={-1} dir={dir}>
      <sup>{label}</sup> {inlineView(inline)}{" "}
      <a
        href={`#${id}`}
        aria-label={words.back}
        onClick={(event) => goWithinPage(event, findMark())}
      >
        ↩
      </a>
    </div>
  );
}
