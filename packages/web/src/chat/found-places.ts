import { leavesEnd } from "../answer/go-to-call.ts";
import { inFrame } from "../browser/frames.ts";
import { whileDrawn } from "../parts/lazy-mount.tsx";
import { placesIn } from "./find-in-chat.ts";

/** What a model has said to people; what sub-agents have said to it stands deeper. */
const said = ".answer > .answer-timeline > .answer-piece > .answer-message";
const formula = ".markdown-formula";
/** What is drawn in one piece of what people and models have said, as `drawnWords` has it; the head of a table once. */
const lines = [
  ...[
    "p",
    ".markdown-heading",
    ".markdown-piece",
    "td",
    "table:not(.markdown-further) th",
    formula,
  ].map((line) => `${said} .markdown ${line}`),
  `${said} > .plain-text`,
  ".chat-bubble .plain-text",
].join(", ");
/** A formula is a line of its own, and what is cited is no part of one. */
const notRead = `${formula}, .for-readers, button`;

/** What is looked for in what is drawn. */
export interface Wanted {
  readonly typed: string;
  /** Where it was found with the signs of Markdown, these stand in its place. */
  readonly read: string | undefined;
  readonly isFoundIn: (partId: string) => boolean;
}

/** Where it stands within a line. */
function foundInLine(line: Element, { typed, read, isFoundIn }: Wanted): StaticRange[] {
  const placesOf = line.matches(formula)
    ? (query: string) => wholeFormula(line, query)
    : rangesIn(spelledIn(line));
  const asTyped = placesOf(typed);
  if (asTyped.length > 0 || read === undefined) return asTyped;
  const partId = line.closest("[data-said]")?.getAttribute("data-said") ?? "";
  return isFoundIn(partId) ? placesOf(read) : [];
}

/** A part of a node, where it is drawn. */
export function drawnPart(node: Element, partId: string): Element | null {
  return node.querySelector(`.chat-bubble, ${said}[data-said="${CSS.escape(partId)}"]`);
}

/** Where it stands within a part, in the order of reading; nothing of what is folded. */
export function foundInPart(part: Element, wanted: Wanted): StaticRange[] {
  return [...part.querySelectorAll(lines)].flatMap((line) => foundInLine(line, wanted));
}

/** All of its first line. */
export function beginningOf(part: Element): StaticRange {
  return allOf(part.querySelector(lines) ?? part);
}

/** Brings a place into view and keeps it there until what is near has been drawn. */
export function scrollToPlace(place: StaticRange): void {
  bringIntoView(place);
  whileDrawn(() => bringIntoView(place));
}

function bringIntoView(place: StaticRange): void {
  const element = place.startContainer.parentElement;
  const scroller = element?.closest(".chat-scroller");
  if (element === null || scroller === null || scroller === undefined) return;
  const { top, bottom } = boxOf(place);
  const view = scroller.getBoundingClientRect();
  // What is not laid out, because nobody sees it, has no height.
  const isLaidOut = bottom > top;
  if (isLaidOut && top >= view.top && bottom <= view.bottom) return;
  // Whoever holds the list at its end, or at a message, lets go of it.
  element.dispatchEvent(new Event(leavesEnd, { bubbles: true }));
  if (isLaidOut) scroller.scrollTop += top - (view.top + view.height / 2);
  else element.scrollIntoView({ block: "center" });
}

function boxOf({ startContainer, startOffset, endContainer, endOffset }: StaticRange): DOMRect {
  const range = document.createRange();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range.getBoundingClientRect();
}

/** It is drawn in other characters than those that were written: all of it is the place. */
function wholeFormula(line: Element, query: string): StaticRange[] {
  const written = line.querySelector(":scope > code")?.textContent ?? "";
  return placesIn([written], query).length === 0 ? [] : [allOf(line)];
}

function allOf(element: Element): StaticRange {
  return new StaticRange({
    startContainer: element,
    startOffset: 0,
    endContainer: element,
    endOffset: element.childNodes.length,
  });
}

/** A line break has the place of a blank, in which there is nothing. */
type Spelled = Text | HTMLBRElement;

function rangesIn(nodes: readonly Spelled[]): (query: string) => StaticRange[] {
  const texts = nodes.map((node) => (node instanceof Text ? node.data : "\n"));
  return (query) =>
    placesIn(texts, query).flatMap(({ start, end }) => {
      const [from, to] = [nodes[start.text], nodes[end.text]];
      if (from === undefined || to === undefined) return [];
      return new StaticRange({
        startContainer: from,
        startOffset: start.offset,
        endContainer: to,
        endOffset: to instanceof Text ? end.offset : 0,
      });
    });
}

function spelledIn(place: Element): Spelled[] {
  const walker = document.createTreeWalker(
    place,
    NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
    (node) => {
      if (!(node instanceof Element) || node instanceof HTMLBRElement)
        return NodeFilter.FILTER_ACCEPT;
      return node.matches(notRead) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    },
  );
  const nodes: Spelled[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node instanceof Text || node instanceof HTMLBRElement) nodes.push(node);
  return nodes;
}

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
