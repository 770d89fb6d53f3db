import { stopFollowingEvent } from "../answer/go-to-call.ts";
import { scheduleFrame } from "../browser/frame-scheduler.ts";
import { repeatWhileMounting } from "../ui/lazy-mount.tsx";
import { findTextRanges } from "./find-in-chat.ts";

/** Messages of the answer itself; those of its sub-agents are nested deeper. */
const messageSelector = ".answer > .answer-timeline > .answer-timeline-chunk > .answer-message";
const formulaSelector = ".markdown-formula";
/** Elements that each render one of the strings that `blocksToRenderedText` returns. Repeated table headers are excluded. */
const lineSelector = [
  ...[
    "p",
    ".markdown-heading",
    ".markdown-code-piece",
    "td",
    "table:not(.markdown-table-continuation) th",
    formulaSelector,
  ].map((selector) => `${messageSelector} .markdown ${selector}`),
  `${messageSelector} > .plain-text`,
  ".chat-bubble .plain-text",
].join(", ");
/** Formulas are separate lines; citation markers and hidden text are not part of a line. */
const ignoredSelector = `${formulaSelector}, .visually-hidden, button`;

/** A query to find in rendered text. */
export interface HighlightQuery {
  readonly query: string;
  /** The query as rendered, for parts that match only in their Markdown source. */
  readonly renderedQuery: string | undefined;
  /** True if the part matches, in its rendered text or its Markdown source. Only then is `renderedQuery` highlighted. */
  readonly isMatchingPart: (partId: string) => boolean;
}

function findRangesInLine(
  line: Element,
  { query, renderedQuery, isMatchingPart }: HighlightQuery,
): StaticRange[] {
  const findRanges = line.matches(formulaSelector)
    ? (text: string) => findFormulaRange(line, text)
    : createRangeFinder(collectTextNodes(line));
  const ranges = findRanges(query);
  if (ranges.length > 0 || renderedQuery === undefined) return ranges;
  const partId = line.closest("[data-part-id]")?.getAttribute("data-part-id") ?? "";
  return isMatchingPart(partId) ? findRanges(renderedQuery) : [];
}

/** Returns the element of a part, or null if it is not mounted. */
export function findPartElement(node: Element, partId: string): Element | null {
  return node.querySelector(
    `.chat-bubble, ${messageSelector}[data-part-id="${CSS.escape(partId)}"]`,
  );
}

/** Returns the matches in a part, in reading order. Collapsed content is not searched. */
export function findRangesInPart(part: Element, highlightQuery: HighlightQuery): StaticRange[] {
  return [...part.querySelectorAll(lineSelector)].flatMap((line) =>
    findRangesInLine(line, highlightQuery),
  );
}

/** Returns the range of the first line. */
export function getFirstLineRange(part: Element): StaticRange {
  return getElementRange(part.querySelector(lineSelector) ?? part);
}

/** Scrolls a range into view and keeps it there until the content around it is mounted. */
export function scrollToRange(range: StaticRange): void {
  scrollRangeIntoView(range);
  repeatWhileMounting(() => scrollRangeIntoView(range));
}

function scrollRangeIntoView(range: StaticRange): void {
  const element = range.startContainer.parentElement;
  const scroller = element?.closest(".chat-scroller");
  if (element === null || scroller === null || scroller === undefined) return;
  const { top, bottom } = getRangeRect(range);
  const viewport = scroller.getBoundingClientRect();
  // Content that the browser skips because of `content-visibility` has no height.
  const isLaidOut = bottom > top;
  if (isLaidOut && top >= viewport.top && bottom <= viewport.bottom) return;
  // Stops auto-scrolling, which would scroll the list back to its end.
  element.dispatchEvent(new Event(stopFollowingEvent, { bubbles: true }));
  if (isLaidOut) scroller.scrollTop += top - (viewport.top + viewport.height / 2);
  else element.scrollIntoView({ block: "center" });
}

function getRangeRect({
  startContainer,
  startOffset,
  endContainer,
  endOffset,
}: StaticRange): DOMRect {
  const range = document.createRange();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range.getBoundingClientRect();
}

/** A formula is rendered with characters that differ from its source, so a match is the complete formula. */
function findFormulaRange(line: Element, query: string): StaticRange[] {
  const source = line.querySelector(":scope > code")?.textContent ?? "";
  return findTextRanges([source], query).length === 0 ? [] : [getElementRange(line)];
}

function getElementRange(element: Element): StaticRange {
  return new StaticRange({
    startContainer: element,
    startOffset: 0,
    endContainer: element,
    endOffset: element.childNodes.length,
  });
}

/** Line breaks count as whitespace. */
type TextOrBreak = Text | HTMLBRElement;

function createRangeFinder(nodes: readonly TextOrBreak[]): (query: string) => StaticRange[] {
  const texts = nodes.map((node) => (node instanceof Text ? node.data : "\n"));
  return (query) =>
    findTextRanges(texts, query).flatMap(({ start, end }) => {
      const [startNode, endNode] = [nodes[start.text], nodes[end.text]];
      if (startNode === undefined || endNode === undefined) return [];
      return new StaticRange({
        startContainer: startNode,
        startOffset: start.offset,
        endContainer: endNode,
        endOffset: endNode instanceof Text ? end.offset : 0,
      });
    });
}

function collectTextNodes(line: Element): TextOrBreak[] {
  const walker = document.createTreeWalker(
    line,
    NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
    (node) => {
      if (!(node instanceof Element) || node instanceof HTMLBRElement)
        return NodeFilter.FILTER_ACCEPT;
      return node.matches(ignoredSelector) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    },
  );
  const nodes: TextOrBreak[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node instanceof Text || node instanceof HTMLBRElement) nodes.push(node);
  return nodes;
}

/** Browsers slow down with thousands of highlights. */
const maxHighlights = 200;

/** Highlights the matches in the list, including content that mounts later. Returns a function that removes the highlights. */
export function highlightMatches(highlightQuery: HighlightQuery): () => void {
  const list = document.querySelector(".chat-content");
  // Firefox before 140 does not support CSS highlights; scrolling to a match works without them.
  if (list === null || !("highlights" in CSS)) return () => {};
  const highlight = new Highlight();
  const rangesByLine = new Map<Element, readonly StaticRange[]>();
  const changedLines = new Set<Element>();
  let cancelUpdate: (() => void) | undefined;

  const removeHighlights = (line: Element) => {
    for (const range of rangesByLine.get(line) ?? []) highlight.delete(range);
    rangesByLine.delete(line);
  };
  const updateHighlights = () => {
    cancelUpdate = undefined;
    for (const line of rangesByLine.keys())
      if (changedLines.has(line) || !line.isConnected) removeHighlights(line);
    changedLines.clear();
    for (const line of list.querySelectorAll(lineSelector)) {
      if (highlight.size >= maxHighlights) return;
      if (rangesByLine.has(line)) continue;
      const ranges = findRangesInLine(line, highlightQuery).slice(
        0,
        maxHighlights - highlight.size,
      );
      rangesByLine.set(line, ranges);
      for (const range of ranges) highlight.add(range);
    }
  };
  const observer = new MutationObserver((records) => {
    for (const { target } of records) {
      const line = (target instanceof Element ? target : target.parentElement)?.closest(
        lineSelector,
      );
      if (line !== null && line !== undefined) changedLines.add(line);
    }
    cancelUpdate ??= scheduleFrame(updateHighlights);
  });
  updateHighlights();
  CSS.highlights.set("chat-search-match", highlight);
  observer.observe(list, { subtree: true, childList: true, characterData: true });
  return () => {
    observer.disconnect();
    cancelUpdate?.();
    CSS.highlights.delete("chat-search-match");
  };
}

/** Highlights the current match. Undefined removes the highlight. */
export function highlightCurrentMatch(range: StaticRange | undefined): void {
  if (!("highlights" in CSS)) return;
  if (range === undefined) CSS.highlights.delete("chat-search-current");
  else CSS.highlights.set("chat-search-current", new Highlight(range));
}
