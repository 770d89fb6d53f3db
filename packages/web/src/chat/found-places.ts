import { leavesEnd } from "../answer/go-to-call.ts";
import { whileDrawn } from "../parts/while-drawn.ts";
import { placesIn } from "./find-in-chat.ts";

/** What a model has said to people; what sub-agents have said to it stands deeper. */
const said = ".answer > .answer-timeline > .answer-piece > .answer-message";
/** What is drawn in one piece of what people and models have said. */
export const lines = [
  ...["p", ".markdown-heading", ".markdown-piece", "td", "th"].map(
    (line) => `${said} .markdown ${line}`,
  ),
  ".chat-bubble .plain-text",
].join(", ");
/** Drawn twice, for those who see and those who hear: it would be found twice. */
const notRead = ".markdown-formula, .for-readers, button";

/** What is looked for in what is drawn. */
export interface Wanted {
  readonly typed: string;
  /** Where it was found with the signs of Markdown, these stand in its place. */
  readonly read: string | undefined;
  readonly isFoundIn: (partId: string) => boolean;
}

/** Where it stands within a line. */
export function foundInLine(line: Element, { typed, read, isFoundIn }: Wanted): StaticRange[] {
  const nodes = textNodesIn(line);
  const asTyped = rangesOf(nodes, typed);
  if (asTyped.length > 0 || read === undefined) return asTyped;
  const partId = line.closest("[data-said]")?.getAttribute("data-said") ?? "";
  return isFoundIn(partId) ? rangesOf(nodes, read) : [];
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
  const line = part.querySelector(lines) ?? part;
  return new StaticRange({
    startContainer: line,
    startOffset: 0,
    endContainer: line,
    endOffset: line.childNodes.length,
  });
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

function rangesOf(nodes: readonly Text[], query: string): StaticRange[] {
  const texts = nodes.map(({ data }) => data);
  return placesIn(texts, query).flatMap(({ start, end }) => {
    const [from, to] = [nodes[start.text], nodes[end.text]];
    if (from === undefined || to === undefined) return [];
    return new StaticRange({
      startContainer: from,
      startOffset: start.offset,
      endContainer: to,
      endOffset: end.offset,
    });
  });
}

function textNodesIn(place: Element): Text[] {
  const walker = document.createTreeWalker(
    place,
    NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
    (node) => {
      if (!(node instanceof Element)) return NodeFilter.FILTER_ACCEPT;
      return node.matches(notRead) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    },
  );
  const nodes: Text[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node instanceof Text) nodes.push(node);
  return nodes;
}
