import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createViewportObserver, type ViewportObserver } from "./viewport-observer.ts";

interface LazyMountProps {
  /** Key under which its height is remembered; change it with the content. */
  name: string;
  className: string;
  /** Returns the estimated height in px, before the first mount. */
  guess: () => number;
  /** Mounts it wherever it is, for example because a search hit is inside. */
  isWanted: boolean;
  /** Mounts it in the first render, before its position is known. */
  isDrawnAtOnce: boolean;
  children: () => ReactNode;
}

/** Mounts its children near the viewport; elsewhere it is an empty box with their last or estimated height. */
export function LazyMount(props: LazyMountProps) {
  const { name, className, guess, isWanted, isDrawnAtOnce, children } = props;
  const scope = useLazyMountScope();
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isDrawnAtOnce);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    return scope.observer.watch(current, (near, height) => {
      if (near) {
        flushSync(() => setNear(true));
        return true;
      }
      if (isInUse(current) || isBesideFocus(current)) return true;
      scope.heights.set(name, height);
      setNear(false);
      return false;
    });
  }, [scope, name]);
  if (isNear || isWanted)
    return (
      <div
        ref={element}
        className={className}
        onFocus={({ currentTarget }) =>
          // Not during the render that may have moved the focus here.
          queueMicrotask(() => scope.observer.notifyBeside(currentTarget))
        }
      >
        {children()}
      </div>
    );
  const blockSize = scope.heights.get(name) ?? guess();
  return <div ref={element} className={className} style={{ blockSize }} />;
}

/** Tab moves the focus there next. */
function isBesideFocus({ previousElementSibling: above, nextElementSibling: below }: Element) {
  return hasFocus(above) || hasFocus(below);
}

/** Shared by all `LazyMount`s of one scroller. */
export interface LazyMountScope {
  readonly observer: ViewportObserver;
  /** Heights when they were last mounted, by name. */
  readonly heights: Map<string, number>;
  /** True once the list has been rendered: what is appended from then on is mounted at once. */
  isOpen(): boolean;
  open(): void;
}

export function createLazyMountScope(): LazyMountScope {
  let isOpen = false;
  return {
    observer: createViewportObserver(scrollerAround, onUseEnd),
    heights: new Map(),
    isOpen: () => isOpen,
    open() {
      isOpen = true;
    },
  };
}

export const LazyMountContext = createContext<LazyMountScope | undefined>(undefined);

/** Returns the scope of the surrounding scroller, so that its content is mounted in turn. */
export function useLazyMountScope(): LazyMountScope {
  const around = useContext(LazyMountContext);
  if (around === undefined) throw new Error("LazyMount needs a LazyMountContext around it");
  return around;
}

/** Returns the surrounding scope, or a new one if there is none. */
export function useLazyMountScopeOrOwn(): LazyMountScope {
  const around = useContext(LazyMountContext);
  const [own] = useState(createLazyMountScope);
  return around ?? own;
}

function scrollerAround(element: Element): Element | null {
  for (let around = element.parentElement; around !== null; around = around.parentElement)
    if (scrolls.has(getComputedStyle(around).overflowY)) return around;
  return null;
}

const scrolls = new Set(["auto", "scroll"]);

/** True if unmounting it would lose the focus, a selection or playing media. */
function isInUse(element: Element): boolean {
  return hasFocus(element) || isSelected(element) || isPlaying(element);
}

function hasFocus(element: Element | null): boolean {
  return element !== null && element.contains(document.activeElement);
}

/** Calls the listener when an element may no longer be in use. */
function onUseEnd(listener: () => void): () => void {
  const listening = new AbortController();
  // Media events do not bubble.
  const options = { capture: true, signal: listening.signal };
  for (const name of ["focusout", "selectionchange", "pause", "ended"])
    document.addEventListener(name, listener, options);
  return () => listening.abort();
}

function isSelected(element: Element): boolean {
  const selection = document.getSelection();
  if (selection === null || selection.isCollapsed) return false;
  return Array.from({ length: selection.rangeCount }, (_, nth) => selection.getRangeAt(nth)).some(
    (range) => range.intersectsNode(element),
  );
}

function isPlaying(element: Element): boolean {
  return [...element.querySelectorAll<HTMLMediaElement>("audio, video")].some(
    ({ paused }) => !paused,
  );
}

export const lineHeight = 24;
export const lettersInLine = 90;

/** Estimates how many lines a text takes. */
export function guessedLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return Math.max(lines, Math.ceil(text.length / lettersInLine));
}

/** Frames until everything near the viewport is mounted; heights may differ from their estimates until then. */
const framesOfDrawing = 12;

/** Calls `step` in each frame until everything near the viewport is mounted. */
export function whileDrawn(step: () => void, frames = framesOfDrawing): void {
  if (frames === 0) return;
  requestAnimationFrame(() => {
    step();
    whileDrawn(step, frames - 1);
  });
}
