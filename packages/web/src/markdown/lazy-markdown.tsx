import { createElement, useSyncExternalStore, type ReactNode } from "react";
import type {
  DrawnBlocks,
  DrawnBlocksProps,
  Markdown,
  MarkdownProps,
  ReadMarkdown,
} from "./markdown.tsx";

interface Drawing {
  readonly Markdown: typeof Markdown;
  readonly DrawnBlocks: typeof DrawnBlocks;
  readonly readMarkdown: ReadMarkdown;
}

let loaded: Drawing | undefined;
let loading: Promise<void> | undefined;
const waiting = new Set<() => void>();

/** The text as it is until what draws Markdown has come, and if it never does. */
export function LazyMarkdown(props: MarkdownProps) {
  const drawn = useSyncExternalStore(subscribe, current, nothing);
  if (drawn !== undefined) return createElement(drawn.Markdown, props);
  return (
    <div className="plain-text" dir="auto">
      {props.text}
    </div>
  );
}

interface LazyBlocksProps extends DrawnBlocksProps {
  /** Shown until they can be drawn. */
  children: ReactNode;
}

export function LazyBlocks({ children, ...props }: LazyBlocksProps) {
  const drawn = useSyncExternalStore(subscribe, current, nothing);
  return drawn === undefined ? children : createElement(drawn.DrawnBlocks, props);
}

/** What reads Markdown as it is drawn: until it has come, the text as it is. */
export function useReadMarkdown(): ReadMarkdown {
  return useSyncExternalStore(subscribe, current, current)?.readMarkdown ?? asItIs;
}

const asItIs: ReadMarkdown = ({ text }) => [text];

/** Can be called early, so that it is there when the first answer is. */
export function loadMarkdown(): Promise<void> {
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  try {
    loaded = await import("./markdown.tsx");
    for (const tell of waiting) tell();
  } catch {
    // Without a connection, or after another build was put in place: who comes next tries again.
    loading = undefined;
  }
}

function subscribe(tell: () => void): () => void {
  waiting.add(tell);
  void loadMarkdown();
  return () => waiting.delete(tell);
}

function current(): Drawing | undefined {
  return loaded;
}

function nothing(): undefined {
  return undefined;
}
