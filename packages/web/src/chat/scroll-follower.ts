import { assertNever } from "@deltawire/tasks";
import { stopFollowingEvent } from "../answer/go-to-call.ts";
import { createCell, type Cell } from "../cell.ts";

/** How the list scrolls while an answer grows. */
export type FollowMode =
  /** Keeps the end in view. */
  | { readonly type: "end" }
  /** Follows until the start of the answer reaches the top, and holds it there. */
  | { readonly type: "start" }
  /** The user has scrolled away. `hasNewContent` is true if the answer has grown since. */
  | { readonly type: "detached"; readonly hasNewContent: boolean };

/** All values are in px. */
export interface ScrollMetrics {
  /** `scrollTop` */
  readonly top: number;
  /** `scrollHeight` */
  readonly height: number;
  /** `clientHeight` */
  readonly viewportHeight: number;
}

/** Within this distance the list counts as scrolled to its end: rounding and fractional zoom leave a few px. */
const endTolerancePx = 10;
const roundingPx = 1;
/** Height of the "jump to the end" button, which is not shown if it would cover more than it reveals. */
const buttonHeightPx = 40;

export function isAtEnd(scroll: ScrollMetrics): boolean {
  return getMaxScrollTop(scroll) - scroll.top <= endTolerancePx;
}

/** True if there is enough content below to offer the button. */
export function hasMoreBelow(scroll: ScrollMetrics): boolean {
  return getMaxScrollTop(scroll) - scroll.top > buttonHeightPx;
}

/** Returns the mode after a scroll event. `previous` includes the follower's own scrolling. */
export function nextModeAfterScroll(
  mode: FollowMode,
  previous: ScrollMetrics,
  current: ScrollMetrics,
): FollowMode {
  const scrolledDown = current.top - previous.top;
  // If the content shrinks or the window grows, the browser scrolls up a list that is at its end. After several changes it
  // may have done so after the first one (a finished answer became shorter, then the header above it became taller).
  const height = Math.min(previous.height, current.height);
  const viewportHeight = Math.max(previous.viewportHeight, current.viewportHeight);
  const maxCorrection =
    getMaxScrollTop(previous) - getMaxScrollTop({ top: 0, height, viewportHeight });
  // The content may have grown again since then, hence the tolerance. Wheel, touch and keys are detected separately.
  const tolerance = maxCorrection > 0 ? buttonHeightPx : roundingPx;
  if (-scrolledDown > maxCorrection + tolerance)
    return mode.type === "detached" ? mode : detachedMode;
  if (scrolledDown <= roundingPx) return mode;
  if (isAtEnd(current)) return { type: "end" };
  return mode.type === "start" ? detachedMode : mode;
}

/** Returns the mode when the user scrolls up by wheel, touch or key. Called before the list moves, so that it is not pulled back. */
export function nextModeAfterScrollUp(mode: FollowMode, current: ScrollMetrics): FollowMode {
  return mode.type === "detached" || getMaxScrollTop(current) <= 0 ? mode : detachedMode;
}

/**
 * Returns the mode after the height of the content has changed. `isStreaming`: an answer is streaming at the end. `isReading`:
 * the user has selected text or has just expanded something, so the list must not move.
 */
export function nextModeAfterGrowth(
  mode: FollowMode,
  previous: ScrollMetrics,
  current: ScrollMetrics,
  { isStreaming, isReading }: { readonly isStreaming: boolean; readonly isReading: boolean },
): FollowMode {
  const hasGrown = current.height > previous.height + roundingPx;
  if (!hasGrown) return mode;
  if (mode.type === "detached")
    return isStreaming && !mode.hasNewContent && !isAtEnd(current)
      ? { type: "detached", hasNewContent: true }
      : mode;
  return isReading ? { type: "detached", hasNewContent: isStreaming } : mode;
}

/** Returns the `scrollTop` for a mode, or undefined to leave it unchanged. `startTop` is the offset of the answer in the content. */
export function getTargetScrollTop(
  mode: FollowMode,
  current: ScrollMetrics,
  startTop: number | undefined,
): number | undefined {
  switch (mode.type) {
    case "end":
      return getMaxScrollTop(current);
    case "start":
      return startTop === undefined
        ? undefined
        : Math.max(0, Math.min(getMaxScrollTop(current), startTop));
    case "detached":
      return undefined;
    default:
      return assertNever(mode);
  }
}

const detachedMode: FollowMode = { type: "detached", hasNewContent: false };

function getMaxScrollTop({ height, viewportHeight }: ScrollMetrics): number {
  return Math.max(0, height - viewportHeight);
}

/** State of the "jump to the end" button. */
interface EndVisibility {
  /** True if the end is visible or almost visible. */
  readonly isVisible: boolean;
  readonly hasNewContent: boolean;
}

export interface ScrollFollower {
  readonly endVisibility: Cell<EndVisibility>;
  /** Starts following, until the user scrolls away. */
  follow(target: "end" | "start"): void;
  /** Keeps an element at the top while content around it mounts. */
  holdAtTop(element: Element): void;
  /** Stops following. */
  detach(): void;
  /** Sets the function that finds the answer streaming at the end. `find` is called whenever the list grows. */
  setStreamingElement(find: () => Element | null): void;
  /** Starts observing the scroller. Returns a function that stops it. */
  attach(scroller: HTMLElement, content: HTMLElement): () => void;
}

/** Keeps a scroller at its end, or at the start of an answer, until the user scrolls away. */
export function createScrollFollower(): ScrollFollower {
  const endVisibility = createCell<EndVisibility>({ isVisible: true, hasNewContent: false });
  let mode: FollowMode = { type: "end" };
  let previous: ScrollMetrics = { top: 0, height: 0, viewportHeight: 0 };
  let findStreamingElement: () => Element | null = () => null;
  let heldElement: Element | undefined;
  let disclosedAt = -Infinity;
  let updateScroll = () => {};
  let setAnchoring = (_isEnabled: boolean) => {};
  const setMode = (next: FollowMode) => {
    mode = next;
    setAnchoring(next.type === "detached");
  };
  const detach = () => {
    if (mode.type !== "detached") setMode({ type: "detached", hasNewContent: false });
  };

  return {
    endVisibility,
    follow(target) {
      setMode({ type: target });
      disclosedAt = -Infinity;
      heldElement = undefined;
      updateScroll();
    },
    holdAtTop(element) {
      setMode({ type: "start" });
      heldElement = element;
      updateScroll();
    },
    detach,
    setStreamingElement(find) {
      findStreamingElement = find;
    },
    attach(scroller, content) {
      const measure = (): ScrollMetrics => ({
        top: scroller.scrollTop,
        height: scroller.scrollHeight,
        viewportHeight: scroller.clientHeight,
      });
      const publish = (current: ScrollMetrics) => {
        previous = current;
        const isVisible = !hasMoreBelow(current);
        const hasNewContent = mode.type === "detached" && mode.hasNewContent && !isVisible;
        const lastVisibility = endVisibility.get();
        if (
          lastVisibility.isVisible !== isVisible ||
          lastVisibility.hasNewContent !== hasNewContent
        )
          endVisibility.set({ isVisible, hasNewContent });
      };
      // Scroll anchoring is off while following. Otherwise, if something above shrinks while the end grows by as much, the
      // browser's correction looks exactly like a user scrolling up.
      setAnchoring = (isEnabled) => {
        const value = isEnabled ? "" : "none";
        if (scroller.style.overflowAnchor !== value) scroller.style.overflowAnchor = value;
      };
      setAnchoring(mode.type === "detached");
      updateScroll = () => {
        const current = measure();
        // The answer may have been mounted since the last update.
        if (mode.type === "start") heldElement ??= findStreamingElement() ?? undefined;
        const top = getTargetScrollTop(mode, current, getOffsetInScroller(heldElement, scroller));
        if (top !== undefined && Math.abs(top - current.top) >= 1) {
          scroller.scrollTop = top;
          publish(measure());
        } else publish(current);
      };
      const onScroll = () => {
        const current = measure();
        setMode(nextModeAfterScroll(mode, previous, current));
        // The browser may have scrolled the list after the last resize.
        if (mode.type === "end") updateScroll();
        else publish(current);
      };
      const onScrollUp = () => {
        setMode(nextModeAfterScrollUp(mode, measure()));
      };
      const onResize = () => {
        const current = measure();
        const growth = {
          isStreaming: findStreamingElement() !== null,
          isReading: hasSelectionIn(content) || performance.now() - disclosedAt < disclosureGraceMs,
        };
        setMode(nextModeAfterGrowth(mode, previous, current, growth));
        updateScroll();
      };
      const onClick = ({ target }: Event) => {
        if (target instanceof Element && target.closest(disclosureSelector) !== null)
          disclosedAt = performance.now();
      };

      const controller = new AbortController();
      const listenerOptions = { passive: true, signal: controller.signal };
      scroller.addEventListener("scroll", onScroll, listenerOptions);
      scroller.addEventListener(
        "wheel",
        ({ deltaY }) => deltaY < 0 && onScrollUp(),
        listenerOptions,
      );
      scroller.addEventListener("click", onClick, listenerOptions);
      scroller.addEventListener(stopFollowingEvent, detach, listenerOptions);
      scroller.addEventListener(
        "keydown",
        (event) => isScrollUpKey(event) && onScrollUp(),
        listenerOptions,
      );
      listenToTouch(scroller, onScrollUp, listenerOptions);
      const observer = new ResizeObserver(onResize);
      observer.observe(scroller);
      observer.observe(content);
      updateScroll();
      return () => {
        controller.abort();
        observer.disconnect();
        updateScroll = () => {};
        setAnchoring = () => {};
      };
    },
  };
}

/** Matches everything that expands in place. Popups do not change the height of the list. */
const disclosureSelector = "summary, [aria-expanded]:not([aria-haspopup])";
/** Growth within this time after a click is attributed to the expanded element, which must stay in view. */
const disclosureGraceMs = 400;
/** Margin above an answer that is held at the top. */
const heldTopMarginPx = 12;

function getOffsetInScroller(
  element: Element | undefined,
  scroller: HTMLElement,
): number | undefined {
  if (element?.isConnected !== true) return undefined;
  const { top } = element.getBoundingClientRect();
  return top - scroller.getBoundingClientRect().top + scroller.scrollTop - heldTopMarginPx;
}

function hasSelectionIn(content: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && content.contains(selection.anchorNode);
}

function isScrollUpKey({ key, shiftKey, target }: KeyboardEvent): boolean {
  if (target instanceof Element && target.matches("input, textarea, select")) return false;
  return key === "ArrowUp" || key === "PageUp" || key === "Home" || (key === " " && shiftKey);
}

function listenToTouch(
  scroller: HTMLElement,
  onScrollUp: () => void,
  options: AddEventListenerOptions,
): void {
  let lastY: number | undefined;
  const onTouch = ({ touches }: TouchEvent) => {
    const y = touches[0]?.clientY;
    // Moving the finger down scrolls up.
    if (y !== undefined && lastY !== undefined && y > lastY + 2) onScrollUp();
    lastY = y;
  };
  scroller.addEventListener("touchstart", onTouch, options);
  scroller.addEventListener("touchmove", onTouch, options);
  scroller.addEventListener("touchend", () => (lastY = undefined), options);
}
