import { wantSteps } from "../answer/wanted-steps.ts";
import type { FoundNode, FoundPart } from "./find-in-chat.ts";
import { beginningOf, drawnPart, foundInPart, type Wanted } from "./found-places.ts";
import { elementId } from "./thread.ts";

/** A place in a node that was found. */
export interface Spot {
  readonly nodeId: string;
  /** In which of its parts, and which place of that. */
  readonly part: number;
  readonly place: number;
  readonly range: StaticRange;
  /** The part has what is looked for, but not as it is drawn: all of it is meant. */
  readonly isWhole: boolean;
}

/** The place after one, or before it, in the same part. */
export function nextInPart(
  node: FoundNode,
  spot: Spot,
  step: 1 | -1,
  wanted: Wanted,
): Spot | undefined {
  const part = node.parts[spot.part];
  const drawn = part === undefined ? null : elementOf(node, part);
  const place = spot.place + step;
  const range = drawn === null ? undefined : foundInPart(drawn, wanted)[place];
  return range === undefined ? undefined : { ...spot, place, range, isWhole: false };
}

/** The first place from a part on, or the last one before it. What is folded or not drawn is drawn for it. */
export async function spotFrom(
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
export function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}
