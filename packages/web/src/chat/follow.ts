import { unreachable } from "../unreachable.ts";

/** Whether the list goes down by itself as an answer grows. */
export type Following =
  /** Its end stays in view. */
  | { readonly is: "end" }
  /** Until the beginning of the answer has come to the top: there it holds. */
  | { readonly is: "start" }
  /** The reader is elsewhere. `news`: something was written since at the end. */
  | { readonly is: "free"; readonly news: boolean };

/** Of the list, in px: how far down it is, how high all of it, and how much of it is seen. */
export interface Scroll {
  readonly top: number;
  readonly height: number;
  readonly view: number;
}

/** Rounding, and a zoom that is no whole number, leave a few px. */
const nearEnd = 10;
const slack = 1;
/** Of the button that goes to the end: before so little it would hide more than it brings. */
const buttonHeight = 40;

export function isAtEnd(scroll: Scroll): boolean {
  return lowest(scroll) - scroll.top <= nearEnd;
}

/** So much is below that somebody wants to be taken there. */
export function hasMoreBelow(scroll: Scroll): boolean {
  return lowest(scroll) - scroll.top > buttonHeight;
}

/** The list has moved, and not by us: what we do is `before` already. */
export function afterScroll(following: Following, before: Scroll, now: Scroll): Following {
  const moved = now.top - before.top;
  // What became shorter, or a window that became higher, moves a list that is at its end. Of several changes the browser
  // may have moved it at the first: an answer that ended became shorter, then the header above it higher.
  const height = Math.min(before.height, now.height);
  const view = Math.max(before.view, now.view);
  const byItself = lowest(before) - lowest({ top: 0, height, view });
  // It may also have grown again since: who scrolls by a wheel, a finger or a key is known without this.
  const unsure = byItself > 0 ? buttonHeight : slack;
  if (-moved > byItself + unsure) return following.is === "free" ? following : freed;
  if (moved <= slack) return following;
  if (isAtEnd(now)) return { is: "end" };
  return following.is === "start" ? freed : following;
}

/** The reader turns upwards: by the wheel, a finger or a key. Told before the list has moved, so that it can. */
export function afterTurningUp(following: Following, now: Scroll): Following {
  return following.is === "free" || lowest(now) <= 0 ? following : freed;
}

/** What is in the list has another height. `written`: an answer is being written at its end. */
export function afterGrowth(
  following: Following,
  before: Scroll,
  now: Scroll,
  { written, selecting }: { readonly written: boolean; readonly selecting: boolean },
): Following {
  const grew = now.height > before.height + slack;
  if (!grew) return following;
  if (following.is === "free")
    return written && !following.news && !isAtEnd(now) ? { is: "free", news: true } : following;
  return selecting ? { is: "free", news: written } : following;
}

/** Where the list has to be then; undefined where it is. `startTop`: where the answer begins, from the top of all. */
export function placeFor(
  following: Following,
  now: Scroll,
  startTop: number | undefined,
): number | undefined {
  switch (following.is) {
    case "end":
      return lowest(now);
    case "start":
      return startTop === undefined ? undefined : Math.max(0, Math.min(lowest(now), startTop));
    case "free":
      return undefined;
    default:
      return unreachable(following);
  }
}

const freed: Following = { is: "free", news: false };

function lowest({ height, view }: Scroll): number {
  return Math.max(0, height - view);
}
