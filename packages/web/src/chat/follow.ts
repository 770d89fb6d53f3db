import { leavesEnd } from "../answer/go-to-call.ts";
import { cell, type Cell } from "../cell.ts";
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

/** What a reader is to know of the end of the list. */
interface EndInView {
  /** All of it, or but for a few px. */
  readonly isSeen: boolean;
  readonly news: boolean;
}

export interface Follower {
  readonly end: Cell<EndInView>;
  /** From now on until the reader turns away. */
  begin(follow: "end" | "start"): void;
  /** Something else than the end is at the top, and stays there while what is around it is drawn. */
  hold(element: Element): void;
  letGo(): void;
  /** Finds the answer that is being written at the end; asked for whenever the list grows. */
  setWritten(find: () => Element | null): void;
  attach(scroller: HTMLElement, content: HTMLElement): () => void;
}

/** Keeps a scroller at the end of what it shows, or at the start of an answer, for as long as the reader wants it. */
export function createFollower(): Follower {
  const end = cell<EndInView>({ isSeen: true, news: false });
  let following: Following = { is: "end" };
  let before: Scroll = { top: 0, height: 0, view: 0 };
  let written: () => Element | null = () => null;
  let held: Element | undefined;
  let unfoldedAt = -Infinity;
  let place = () => {};
  let setAnchoring = (_isOn: boolean) => {};
  const setFollowing = (next: Following) => {
    following = next;
    setAnchoring(next.is === "free");
  };
  const letGo = () => {
    if (following.is !== "free") setFollowing({ is: "free", news: false });
  };

  return {
    end,
    begin(follow) {
      setFollowing({ is: follow });
      unfoldedAt = -Infinity;
      held = undefined;
      place();
    },
    hold(element) {
      setFollowing({ is: "start" });
      held = element;
      place();
    },
    letGo,
    setWritten(find) {
      written = find;
    },
    attach(scroller, content) {
      const measure = (): Scroll => ({
        top: scroller.scrollTop,
        height: scroller.scrollHeight,
        view: scroller.clientHeight,
      });
      const note = (now: Scroll) => {
        before = now;
        const isSeen = !hasMoreBelow(now);
        const news = following.is === "free" && following.news && !isSeen;
        const last = end.get();
        if (last.isSeen !== isSeen || last.news !== news) end.set({ isSeen, news });
      };
      // A list that follows is placed here. If the browser moved it too, it could not be told from a reader: where something above
      // becomes shorter while the end grows by as much, all that is seen is a list that went up.
      setAnchoring = (isOn) => {
        const value = isOn ? "" : "none";
        if (scroller.style.overflowAnchor !== value) scroller.style.overflowAnchor = value;
      };
      setAnchoring(following.is === "free");
      place = () => {
        const now = measure();
        // It may be drawn only now.
        if (following.is === "start") held ??= written() ?? undefined;
        const top = placeFor(following, now, startOf(held, scroller));
        if (top !== undefined && Math.abs(top - now.top) >= 1) {
          scroller.scrollTop = top;
          note(measure());
        } else note(now);
      };
      const onScroll = () => {
        const now = measure();
        setFollowing(afterScroll(following, before, now));
        // What moved it by itself may have come after the last growth.
        if (following.is === "end") place();
        else note(now);
      };
      const turnUp = () => {
        setFollowing(afterTurningUp(following, measure()));
      };
      const onResize = () => {
        const now = measure();
        const growth = {
          written: written() !== null,
          selecting: isSelectingIn(content) || performance.now() - unfoldedAt < unfoldingMs,
        };
        setFollowing(afterGrowth(following, before, now, growth));
        place();
      };
      const onClick = ({ target }: Event) => {
        if (target instanceof Element && target.closest(unfolding) !== null)
          unfoldedAt = performance.now();
      };

      const listening = new AbortController();
      const listen = { passive: true, signal: listening.signal };
      scroller.addEventListener("scroll", onScroll, listen);
      scroller.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && turnUp(), listen);
      scroller.addEventListener("click", onClick, listen);
      scroller.addEventListener(leavesEnd, letGo, listen);
      scroller.addEventListener("keydown", (event) => isUpwards(event) && turnUp(), listen);
      listenToFinger(scroller, turnUp, listen);
      const observer = new ResizeObserver(onResize);
      observer.observe(scroller);
      observer.observe(content);
      place();
      return () => {
        listening.abort();
        observer.disconnect();
        place = () => {};
        setAnchoring = () => {};
      };
    },
  };
}

/** A menu lies above everything, and nothing of the list moves for it. */
const unfolding = "summary, [aria-expanded]:not([aria-haspopup])";
/** What a reader has just unfolded is to be read, and not to be scrolled past. */
const unfoldingMs = 400;
/** Room above an answer that is held at the top. */
const above = 12;

function startOf(answer: Element | undefined, scroller: HTMLElement): number | undefined {
  if (answer?.isConnected !== true) return undefined;
  const { top } = answer.getBoundingClientRect();
  return top - scroller.getBoundingClientRect().top + scroller.scrollTop - above;
}

function isSelectingIn(content: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && content.contains(selection.anchorNode);
}

function isUpwards({ key, shiftKey, target }: KeyboardEvent): boolean {
  if (target instanceof Element && target.matches("input, textarea, select")) return false;
  return key === "ArrowUp" || key === "PageUp" || key === "Home" || (key === " " && shiftKey);
}

function listenToFinger(
  scroller: HTMLElement,
  turnUp: () => void,
  listen: AddEventListenerOptions,
): void {
  let last: number | undefined;
  const onTouch = ({ touches }: TouchEvent) => {
    const y = touches[0]?.clientY;
    // A finger that goes down pulls the list down: the reader looks upwards.
    if (y !== undefined && last !== undefined && y > last + 2) turnUp();
    last = y;
  };
  scroller.addEventListener("touchstart", onTouch, listen);
  scroller.addEventListener("touchmove", onTouch, listen);
  scroller.addEventListener("touchend", () => (last = undefined), listen);
}
