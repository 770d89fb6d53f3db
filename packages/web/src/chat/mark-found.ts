import { inFrame } from "../browser/frames.ts";
import { foundInLine, lines, type Wanted } from "./found-places.ts";

/** A browser slows down with thousands. */
const mostMarks = 200;

/** Marks what is looked for wherever it is drawn in the list, also in what is drawn later. What it returns ends that. */
export function markFound(wanted: Wanted): () => void {
  const list = document.querySelector(".chat-content");
  // Firefox has them since 140: without them the list still goes to what was found.
  if (list === null || !("highlights" in CSS)) return () => {};
  const marks = new Highlight();
  const byLine = new Map<Element, readonly StaticRange[]>();
  const changed = new Set<Element>();
  let cancel: (() => void) | undefined;

  const unmark = (line: Element) => {
    for (const range of byLine.get(line) ?? []) marks.delete(range);
    byLine.delete(line);
  };
  const mark = () => {
    cancel = undefined;
    for (const line of byLine.keys()) if (changed.has(line) || !line.isConnected) unmark(line);
    changed.clear();
    for (const line of list.querySelectorAll(lines)) {
      if (marks.size >= mostMarks) return;
      if (byLine.has(line)) continue;
      const ranges = foundInLine(line, wanted).slice(0, mostMarks - marks.size);
      byLine.set(line, ranges);
      for (const range of ranges) marks.add(range);
    }
  };
  const observer = new MutationObserver((records) => {
    for (const { target } of records) {
      const line = (target instanceof Element ? target : target.parentElement)?.closest(lines);
      if (line !== null && line !== undefined) changed.add(line);
    }
    cancel ??= inFrame(mark);
  });
  mark();
  CSS.highlights.set("chat-found", marks);
  observer.observe(list, { subtree: true, childList: true, characterData: true });
  return () => {
    observer.disconnect();
    cancel?.();
    CSS.highlights.delete("chat-found");
  };
}

/** Marks the place that is gone to; undefined: none is. */
export function markCurrent(range: StaticRange | undefined): void {
  if (!("highlights" in CSS)) return;
  if (range === undefined) CSS.highlights.delete("chat-found-now");
  else CSS.highlights.set("chat-found-now", new Highlight(range));
}
