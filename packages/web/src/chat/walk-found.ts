import type { ChatNode } from "@deltawire/tasks/chats";
import { wantSteps } from "../answer/go-to-call.ts";
import { nextFound, type FoundNode, type FoundPart } from "./find-in-chat.ts";
import {
  beginningOf,
  drawnPart,
  foundInPart,
  markCurrent,
  scrollToPlace,
  type Wanted,
} from "./found-places.ts";
import { elementId, type Thread } from "./thread.ts";

/** What was looked for, and where it was found. */
interface Search {
  readonly path: readonly ChatNode[];
  readonly found: readonly FoundNode[];
  readonly wanted: Wanted;
}

/** Goes from place to place of what was found. */
export interface Walk {
  /** To the first place from where it is on. What it was on its way to is no longer wanted. */
  look(search: Search): void;
  /** To the place behind the one that it is at, or before it; around the ends. */
  move(search: Search, step: 1 | -1): void;
  end(): void;
}

/** Whoever holds the key down is not to be followed for long after. */
const mostWaiting = 2;

/** `onNode`: told the node that it goes to, before anything of it is drawn. */
export function createWalk(
  thread: Pick<Thread, "show">,
  onNode: (nodeId: string | undefined) => void,
): Walk {
  let at: { readonly nodeId: string; readonly spot: Spot | undefined } | undefined;
  let looks = 0;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  /** One after the other: each goes on from where the one before it has come to. */
  const inTurn = (go: (isWanted: () => boolean) => Promise<void>) => {
    const own = looks;
    const isWanted = () => own === looks;
    waiting += 1;
    const run = async () => {
      waiting -= 1;
      if (isWanted()) await go(isWanted);
    };
    last = last.then(run, run);
  };
  const show = async (spot: Spot) => {
    at = { nodeId: spot.nodeId, spot };
    markCurrent(spot.isWhole ? undefined : spot.range);
    if (spot.isWhole) {
      await thread.show(spot.nodeId, { by: "mark" });
      await nextFrame();
    }
    scrollToPlace(spot.range);
  };
  const goTo = async (
    { path, found, wanted }: Search,
    itself: boolean,
    step: 1 | -1,
    isWanted: () => boolean,
  ) => {
    const from = { nodeId: at?.nodeId ?? firstInView(), itself };
    const ids = found.map(({ nodeId }) => nodeId);
    const next = nextFound(path, ids, from, step);
    const node = found.find(({ nodeId }) => nodeId === next);
    markCurrent(undefined);
    at = node && { nodeId: node.nodeId, spot: undefined };
    onNode(node?.nodeId);
    if (node === undefined || !(await thread.show(node.nodeId, { by: "find" }))) return;
    await nextFrame();
    const first = step === 1 ? 0 : node.parts.length - 1;
    const spot = await spotFrom(node, first, step, wanted);
    if (spot !== undefined && isWanted()) await show(spot);
  };
  const goOn = async (search: Search, step: 1 | -1, isWanted: () => boolean): Promise<void> => {
    const spot = at?.spot;
    const node = search.found.find(({ nodeId }) => nodeId === spot?.nodeId);
    if (spot !== undefined && node !== undefined) {
      const next =
        nextInPart(node, spot, step, search.wanted) ??
        (await spotFrom(node, spot.part + step, step, search.wanted));
      if (!isWanted()) return undefined;
      if (next !== undefined) return show(next);
    }
    return goTo(search, at === undefined, step, isWanted);
  };

  return {
    look(search) {
      looks += 1;
      inTurn((isWanted) => goTo(search, true, 1, isWanted));
    },
    move(search, step) {
      if (waiting < mostWaiting) inTurn((isWanted) => goOn(search, step, isWanted));
    },
    end() {
      looks += 1;
      markCurrent(undefined);
    },
  };
}

/** The node at the top of what is seen. */
function firstInView(): string | undefined {
  const scroller = document.querySelector(".chat-scroller");
  if (scroller === null) return undefined;
  const { top } = scroller.getBoundingClientRect();
  const seen = [...scroller.querySelectorAll("[data-node]")].find(
    (node) => node.getBoundingClientRect().bottom > top,
  );
  return seen?.getAttribute("data-node") ?? undefined;
}

/** A place in a node that was found. */
interface Spot {
  readonly nodeId: string;
  /** In which of its parts, and which place of that. */
  readonly part: number;
  readonly place: number;
  readonly range: StaticRange;
  /** The part has what is looked for, but not as it is drawn: all of it is meant. */
  readonly isWhole: boolean;
}

/** The place after one, or before it, in the same part. */
function nextInPart(node: FoundNode, spot: Spot, step: 1 | -1, wanted: Wanted): Spot | undefined {
  const part = node.parts[spot.part];
  const drawn = part === undefined ? null : elementOf(node, part);
  const place = spot.place + step;
  const range = drawn === null ? undefined : foundInPart(drawn, wanted)[place];
  return range === undefined ? undefined : { ...spot, place, range, isWhole: false };
}

/** The first place from a part on, or the last one before it. What is folded or not drawn is drawn for it. */
async function spotFrom(
  node: FoundNode,
  from: number,
  step: 1 | -1,
  wanted: Wanted,
): Promise<Spot | undefined> {
  for (let at = from; ; at += step) {
    const part = node.parts[at];
    if (part === undefined) return undefined;
    const drawn = part.has ? await drawnWith(node, part, wanted) : elementOf(node, part);
    const places = drawn === null ? [] : foundInPart(drawn, wanted);
    const place = step === 1 ? 0 : places.length - 1;
    const range = places[place];
    const spot = { nodeId: node.nodeId, part: at };
    if (range !== undefined) return { ...spot, place, range, isWhole: false };
    if (part.has && drawn !== null)
      return { ...spot, place: 0, range: beginningOf(drawn), isWhole: true };
  }
}

function elementOf({ nodeId }: FoundNode, { id }: FoundPart): Element | null {
  const node = document.getElementById(elementId(nodeId));
  return node === null ? null : drawnPart(node, id);
}

async function drawnWith(
  node: FoundNode,
  part: FoundPart,
  wanted: Wanted,
): Promise<Element | null> {
  if (elementOf(node, part) === null) {
    wantSteps([part.id]);
    await nextFrame();
  }
  const drawn = elementOf(node, part);
  const unfold = drawn?.querySelector<HTMLElement>('button[aria-expanded="false"]');
  if (drawn?.matches("[data-folded]") && unfold && foundInPart(drawn, wanted).length === 0) {
    unfold.click();
    await nextFrame();
  }
  return drawn;
}

/** By then what was asked for is drawn. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}
