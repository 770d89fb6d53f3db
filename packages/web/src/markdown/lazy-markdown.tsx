import { createElement, useSyncExternalStore, type ReactNode } from "react";
import type {
  MarkdownBlocks,
  MarkdownBlocksProps,
  Markdown,
  MarkdownProps,
  MarkdownToTextPieces,
} from "./markdown.tsx";

interface MarkdownModule {
  readonly Markdown: typeof Markdown;
  readonly MarkdownBlocks: typeof MarkdownBlocks;
  readonly markdownToTextPieces: MarkdownToTextPieces;
}

let loadedModule: MarkdownModule | undefined;
let loadPromise: Promise<void> | undefined;
const listeners = new Set<() => void>();

/** Renders Markdown, or plain text until the Markdown module is loaded. */
export function LazyMarkdown(props: MarkdownProps) {
  const markdownModule = useSyncExternalStore(subscribe, getLoadedModule, getUndefined);
  if (markdownModule !== undefined) return createElement(markdownModule.Markdown, props);
  return (
    <div className="plain-text" dir="auto">
      {props.text}
    </div>
  );
}

interface LazyMarkdownBlocksProps extends MarkdownBlocksProps {
  /** Shown until the Markdown module is loaded. */
  children: ReactNode;
}

export function LazyMarkdownBlocks({ children, ...props }: LazyMarkdownBlocksProps) {
  const markdownModule = useSyncExternalStore(subscribe, getLoadedModule, getUndefined);
  return markdownModule === undefined
    ? children
    : createElement(markdownModule.MarkdownBlocks, props);
}

/** Returns a function that extracts the text of Markdown as rendered. Until the module is loaded, it returns the source. */
export function useMarkdownToTextPieces(): MarkdownToTextPieces {
  return (
    useSyncExternalStore(subscribe, getLoadedModule, getLoadedModule)?.markdownToTextPieces ??
    toPlainText
  );
}

const toPlainText: MarkdownToTextPieces = ({ text }) => [text];

/** Loads the Markdown module. Can be called early, so that the module is loaded before the first answer. */
export function loadMarkdown(): Promise<void> {
  loadPromise ??= loadModule();
  return loadPromise;
}

async function loadModule(): Promise<void> {
  try {
    loadedModule = await import("./markdown.tsx");
    for (const notify of listeners) notify();
  } catch {
    // There is no connection, or the gateway was updated. The next caller tries again.
    loadPromise = undefined;
  }
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify);
  void loadMarkdown();
  return () => listeners.delete(notify);
}

function getLoadedModule(): MarkdownModule | undefined {
  return loadedModule;
}

function getUndefined(): undefined {
  return undefined;
}
