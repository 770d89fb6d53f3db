import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createViewportObserver, type ViewportObserver } from "./viewport-observer.ts";

interface LazyMountProps {
  /** Key of the cached height. Must change with the content. */
  cacheKey: string;
  className: string;
  /** Returns the estimated height in px. Called until the height is measured. */
  estimateHeight: () => number;
  /** Mounts the children even far from the viewport, for example because they contain a search hit. */
  forceMount: boolean;
  /** Mounts the children in the first render, before their position is known. */
  initiallyMounted: boolean;
  children: () => ReactNode;
}

/** Mounts its children near the viewport. Elsewhere it is an empty element with their last or estimated height. */
export function LazyMount(props: LazyMountProps) {
  const { cacheKey, className, estimateHeight, forceMount, initiallyMounted, children } = props;
  const scope = useLazyMountScope();
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(initiallyMounted);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    return scope.observer.observe(current, (isNear, height) => {
      if (isNear) {
        flushSync(() => setNear(true));
        return true;
      }
      if (isInUse(current) || isNextToFocus(current)) return true;
      scope.heights.set(cacheKey, height);
      setNear(false);
      return false;
    });
  }, [scope, cacheKey]);
  if (isNear || forceMount)
    return (
      <div
        ref={element}
        className={className}
        onFocus={({ currentTarget }) =>
          // Delayed, because the focus may have been moved during a render.
          queueMicrotask(() => scope.observer.notifySiblings(currentTarget))
        }
      >
        {children()}
      </div>
    );
  const blockSize = scope.heights.get(cacheKey) ?? estimateHeight();
  return <div ref={element} className={className} style={{ blockSize }} />;
}

/** True if Tab or Shift+Tab may move the focus into the element. */
function isNextToFocus({ previousElementSibling: above, nextElementSibling: below }: Element) {
  return hasFocus(above) || hasFocus(below);
}

/** State that all `LazyMount`s of one scroller share. */
export interface LazyMountScope {
  readonly observer: ViewportObserver;
  /** Last heights by cache key. */
  readonly heights: Map<string, number>;
  /** True once the list has been rendered: items that are appended later are mounted immediately. */
  isRendered(): boolean;
  markRendered(): void;
}

export function createLazyMountScope(): LazyMountScope {
  let isRendered = false;
  return {
    observer: createViewportObserver(findScroller, subscribeToUseEnd),
    heights: new Map(),
    isRendered: () => isRendered,
    markRendered() {
      isRendered = true;
    },
  };
}

export const LazyMountContext = createContext<LazyMountScope | undefined>(undefined);

/** Returns the scope of the surrounding scroller. */
export function useLazyMountScope(): LazyMountScope {
  const scope = useContext(LazyMountContext);
  if (scope === undefined) throw new Error("LazyMount must be used inside a LazyMountContext");
  return scope;
}

/** Returns the surrounding scope, or a new one if there is none. */
export function useLazyMountScopeOrNew(): LazyMountScope {
  const enclosingScope = useContext(LazyMountContext);
  const [newScope] = useState(createLazyMountScope);
  return enclosingScope ?? newScope;
}

function findScroller(element: Element): Element | null {
  for (let ancestor = element.parentElement; ancestor !== null; ancestor = ancestor.parentElement)
    if (scrollingOverflows.has(getComputedStyle(ancestor).overflowY)) return ancestor;
  return null;
}

const scrollingOverflows = new Set(["auto", "scroll"]);

/** True if unmounting the element would lose the focus, a selection or playing media. */
function isInUse(element: Element): boolean {
  return hasFocus(element) || isSelected(element) || isPlaying(element);
}

function hasFocus(element: Element | null): boolean {
  return element !== null && element.contains(document.activeElement);
}

/** Calls the listener when an element may no longer be in use. */
function subscribeToUseEnd(listener: () => void): () => void {
  const listeners = new AbortController();
  // Media events do not bubble.
  const options = { capture: true, signal: listeners.signal };
  for (const name of ["focusout", "selectionchange", "pause", "ended"])
    document.addEventListener(name, listener, options);
  return () => listeners.abort();
}

function isSelected(element: Element): boolean {
  const selection = document.getSelection();
  if (selection === null || selection.isCollapsed) return false;
  return Array.from({ length: selection.rangeCount }, (_, index) =>
    selection.getRangeAt(index),
  ).some((range) => range.intersectsNode(element));
}

function isPlaying(element: Element): boolean {
  return [...element.querySelectorAll<HTMLMediaElement>("audio, video")].some(
    ({ paused }) => !paused,
  );
}

/** In px. */
export const lineHeight = 24;
export const charactersPerLine = 90;

/** Returns the estimated number of lines of the text. */
export function estimateLines(text: string): number {
  let lines = 1;
  for (let index = text.indexOf("\n"); index !== -1; index = text.indexOf("\n", index + 1))
    lines += 1;
  return Math.max(lines, Math.ceil(text.length / charactersPerLine));
}

/** Number of frames until everything near the viewport is mounted. Until then, heights may still change. */
const mountingFrames = 12;

/** Calls `step` in each frame until everything near the viewport is mounted. */
export function repeatWhileMounting(step: () => void, frames = mountingFrames): void {
  if (frames === 0) return;
  requestAnimationFrame(() => {
    step();
    repeatWhileMounting(step, frames - 1);
  });
}
