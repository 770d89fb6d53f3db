import { createElement, useSyncExternalStore } from "react";
import type { Markdown, MarkdownProps } from "./markdown.tsx";

let loaded: typeof Markdown | undefined;
let loading: Promise<void> | undefined;
const waiting = new Set<() => void>();

/** The text as it is until what draws Markdown has come, and if it never does. */
export function LazyMarkdown(props: MarkdownProps) {
  const drawn = useSyncExternalStore(subscribe, current, nothing);
  if (drawn !== undefined) return createElement(drawn, props);
  return (
    <div className="plain-text" dir="auto">
      {props.text}
    </div>
  );
}

/** Can be called early, so that it is there when the first answer is. */
export function loadMarkdown(): Promise<void> {
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  try {
    loaded = (await import("./markdown.tsx")).Markdown;
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

function current(): typeof Markdown | undefined {
  return loaded;
}

function nothing(): undefined {
  return undefined;
}
