import type { ChatNode } from "@deltawire/tasks/chats";
import { forceMountSteps } from "../answer/go-to-call.ts";
import { findNextMatch, type NodeMatch, type PartMatch } from "./find-in-chat.ts";
import {
  getFirstLineRange,
  findPartElement,
  findRangesInPart,
  highlightCurrentMatch,
  scrollToRange,
  type HighlightQuery,
} from "./search-highlights.ts";
import { getNodeElementId, type Thread } from "./thread.ts";

/** A query and its results. */
interface MatchSearch {
  readonly path: readonly ChatNode[];
  readonly matches: readonly NodeMatch[];
  readonly highlightQuery: HighlightQuery;
}

/** Steps through the matches of a search. */
export interface MatchNavigator {
  /** Goes to the first match at or after the current node. Cancels pending steps. */
  search(search: MatchSearch): void;
  /** Goes to the next or previous match, wrapping around. */
  step(search: MatchSearch, step: 1 | -1): void;
  close(): void;
}

/** Limits how long stepping continues after a held key is released. */
const maxQueuedSteps = 2;

/** `onTargetNode` is called with the node of the next match, before it is scrolled into view. Undefined if there is no match. */
export function createMatchNavigator(
  thread: Pick<Thread, "showNode">,
  onTargetNode: (nodeId: string | undefined) => void,
): MatchNavigator {
  let current: { readonly nodeId: string; readonly match: MatchPosition | undefined } | undefined;
  let searchCount = 0;
  let queuedSteps = 0;
  let lastAction: Promise<void> = Promise.resolve();

  /** Runs the actions one after another, as each step starts where the previous one ended. */
  const enqueue = (action: (isCurrent: () => boolean) => Promise<void>) => {
    const searchNumber = searchCount;
    const isCurrent = () => searchNumber === searchCount;
    queuedSteps += 1;
    const run = async () => {
      queuedSteps -= 1;
      if (isCurrent()) await action(isCurrent);
    };
    lastAction = lastAction.then(run, run);
  };
  const show = async (position: MatchPosition) => {
    current = { nodeId: position.nodeId, match: position };
    highlightCurrentMatch(position.isWholePart ? undefined : position.range);
    if (position.isWholePart) {
      await thread.showNode(position.nodeId, { by: "highlight" });
      await nextFrame();
    }
    scrollToRange(position.range);
  };
  const goToNode = async (
    { path, matches, highlightQuery }: MatchSearch,
    includeStart: boolean,
    step: 1 | -1,
    isCurrent: () => boolean,
  ) => {
    const start = { nodeId: current?.nodeId ?? findFirstVisibleNodeId(), includeStart };
    const ids = matches.map(({ nodeId }) => nodeId);
    const next = findNextMatch(path, ids, start, step);
    const node = matches.find(({ nodeId }) => nodeId === next);
    highlightCurrentMatch(undefined);
    current = node && { nodeId: node.nodeId, match: undefined };
    onTargetNode(node?.nodeId);
    if (node === undefined || !(await thread.showNode(node.nodeId, { by: "find" }))) return;
    await nextFrame();
    const startIndex = step === 1 ? 0 : node.parts.length - 1;
    const position = await findMatchFrom(node, startIndex, step, highlightQuery);
    if (position !== undefined && isCurrent()) await show(position);
  };
  const stepFrom = async (
    search: MatchSearch,
    step: 1 | -1,
    isCurrent: () => boolean,
  ): Promise<void> => {
    const position = current?.match;
    const node = search.matches.find(({ nodeId }) => nodeId === position?.nodeId);
    if (position !== undefined && node !== undefined) {
      const next =
        findNextInPart(node, position, step, search.highlightQuery) ??
        (await findMatchFrom(node, position.partIndex + step, step, search.highlightQuery));
      if (!isCurrent()) return undefined;
      if (next !== undefined) return show(next);
    }
    return goToNode(search, current === undefined, step, isCurrent);
  };

  return {
    search(search) {
      searchCount += 1;
      enqueue((isCurrent) => goToNode(search, true, 1, isCurrent));
    },
    step(search, step) {
      if (queuedSteps < maxQueuedSteps) enqueue((isCurrent) => stepFrom(search, step, isCurrent));
    },
    close() {
      searchCount += 1;
      highlightCurrentMatch(undefined);
    },
  };
}

/** Returns the topmost visible node. */
function findFirstVisibleNodeId(): string | undefined {
  const scroller = document.querySelector(".chat-scroller");
  if (scroller === null) return undefined;
  const { top } = scroller.getBoundingClientRect();
  const firstVisible = [...scroller.querySelectorAll("[data-node]")].find(
    (node) => node.getBoundingClientRect().bottom > top,
  );
  return firstVisible?.getAttribute("data-node") ?? undefined;
}

/** One match in a node. */
interface MatchPosition {
  readonly nodeId: string;
  readonly partIndex: number;
  /** Index of the match in its part. */
  readonly rangeIndex: number;
  readonly range: StaticRange;
  /** True if the match is only in the Markdown source, so that the complete part is highlighted. */
  readonly isWholePart: boolean;
}

/** Returns the next or previous match in the same part. */
function findNextInPart(
  node: NodeMatch,
  position: MatchPosition,
  step: 1 | -1,
  highlightQuery: HighlightQuery,
): MatchPosition | undefined {
  const part = node.parts[position.partIndex];
  const element = part === undefined ? null : findMatchedElement(node, part);
  const rangeIndex = position.rangeIndex + step;
  const range =
    element === null ? undefined : findRangesInPart(element, highlightQuery)[rangeIndex];
  return range === undefined ? undefined : { ...position, rangeIndex, range, isWholePart: false };
}

/**
 * Returns the first match in a part or, if it has none, in the next parts; going backwards, the last match. Mounts and expands
 * matching parts on the way.
 */
async function findMatchFrom(
  node: NodeMatch,
  startIndex: number,
  step: 1 | -1,
  highlightQuery: HighlightQuery,
): Promise<MatchPosition | undefined> {
  for (let index = startIndex; ; index += step) {
    const part = node.parts[index];
    if (part === undefined) return undefined;
    const element = part.isMatch
      ? await mountPart(node, part, highlightQuery)
      : findMatchedElement(node, part);
    const ranges = element === null ? [] : findRangesInPart(element, highlightQuery);
    const rangeIndex = step === 1 ? 0 : ranges.length - 1;
    const range = ranges[rangeIndex];
    const position = { nodeId: node.nodeId, partIndex: index };
    if (range !== undefined) return { ...position, rangeIndex, range, isWholePart: false };
    if (part.isMatch && element !== null)
      return { ...position, rangeIndex: 0, range: getFirstLineRange(element), isWholePart: true };
  }
}

function findMatchedElement({ nodeId }: NodeMatch, { id }: PartMatch): Element | null {
  const node = document.getElementById(getNodeElementId(nodeId));
  return node === null ? null : findPartElement(node, id);
}

async function mountPart(
  node: NodeMatch,
  part: PartMatch,
  highlightQuery: HighlightQuery,
): Promise<Element | null> {
  if (findMatchedElement(node, part) === null) {
    forceMountSteps([part.id]);
    await nextFrame();
  }
  const element = findMatchedElement(node, part);
  const expandButton = element?.querySelector<HTMLElement>('button[aria-expanded="false"]');
  if (
    element?.matches("[data-collapsed]") &&
    expandButton &&
    findRangesInPart(element, highlightQuery).length === 0
  ) {
    expandButton.click();
    await nextFrame();
  }
  return element;
}

/** Resolves in the next frame, when React has rendered pending updates. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}
