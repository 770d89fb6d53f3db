import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createViewportObserver, type ViewportObserver } from "./viewport-observer.ts";

interface LazyMountProps {
  /** By which its height is remembered: another one where it holds something else. */
  name: string;
  className: string;
  /** How high it may be that was never drawn, in px. */
  guess: () => number;
  /** Somebody wants to see something of it, wherever it is. */
  isWanted: boolean;
  /** From the first, before anybody has looked where it is. */
  isDrawnAtOnce: boolean;
  children: () => ReactNode;
}

/** Mounts its children near the viewport; elsewhere it is an empty box of their last or guessed height. */
export function LazyMount(props: LazyMountProps) {
  const { name, className, guess, isWanted, isDrawnAtOnce, children } = props;
  const scope = useLazyMountScope();
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isDrawnAtOnce);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    return scope.watcher.watch(current, (near, height) => {
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
          // Not within the drawing that may have given it the focus.
          queueMicrotask(() => scope.watcher.tellBeside(currentTarget))
        }
      >
        {children()}
      </div>
    );
  const blockSize = scope.heights.get(name) ?? guess();
  return <div ref={element} className={className} style={{ blockSize }} />;
}

/** Whoever presses Tab goes there next. */
function isBesideFocus({ previousElementSibling: above, nextElementSibling: below }: Element) {
  return hasFocus(above) || hasFocus(below);
}

/** Shared by all `LazyMount`s of one scroller. */
export interface LazyMountScope {
  readonly watcher: ViewportObserver;
  /** How high they were when they were last drawn, by their names. */
  readonly heights: Map<string, number>;
  /** Whether the list has been drawn: what is added at its end from then on is seen at once. */
  isOpen(): boolean;
  open(): void;
}

export function createLazyMountScope(): LazyMountScope {
  let isOpen = false;
  return {
    watcher: createViewportObserver(scrollerAround, onUseEnd),
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

/** Returns the surrounding scope, or an own one where there is none. */
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

/** Whether somebody would lose something if it were not drawn: the focus, selected words, or what is heard. */
function isInUse(element: Element): boolean {
  return hasFocus(element) || isSelected(element) || isPlaying(element);
}

function hasFocus(element: Element | null): boolean {
  return element !== null && element.contains(document.activeElement);
}

/** Told when something may not be in use any more. */
function onUseEnd(listener: () => void): () => void {
  const listening = new AbortController();
  // The events of what plays do not bubble.
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

/** How many lines a text may take that was never drawn. */
export function guessedLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return Math.max(lines, Math.ceil(text.length / lettersInLine));
}

/** In so many frames all that is near has been drawn, and may be of another height than was guessed. */
const framesOfDrawing = 12;

/** Does something in each frame until what is near the view has been drawn. */
export function whileDrawn(step: () => void, frames = framesOfDrawing): void {
  if (frames === 0) return;
  requestAnimationFrame(() => {
    step();
    whileDrawn(step, frames - 1);
  });
}
