/** Elements within this distance of the viewport count as near. */
const nearPx = 1500;
/** Maximum time per frame for mounting elements, in milliseconds. */
const mountingBudgetMs = 5;

/** Mounts or unmounts an element. Returns true if it is mounted afterwards: an element in use stays mounted. */
type OnNearChange = (isNear: boolean, height: number) => boolean;

/**
 * Reports which elements of a scroller are near the viewport, with their height. Elements that come near are reported
 * nearest first, and only as many per frame as can be mounted in it, so that the page stays responsive. The callback must
 * mount synchronously.
 */
export interface ViewportObserver {
  observe(element: Element, onNearChange: OnNearChange): () => void;
  /** Reports the siblings of a focused element immediately, because Tab may be pressed before the next frame. */
  notifySiblings(element: Element): void;
}

/**
 * `findScroller` is called with the first element and applies to all. `subscribeToUseEnd` subscribes to events after which elements
 * that stayed mounted because they were in use may be unmounted.
 */
export function createViewportObserver(
  findScroller: (element: Element) => Element | null,
  subscribeToUseEnd: (listener: () => void) => () => void,
): ViewportObserver {
  const callbacks = new Map<Element, OnNearChange>();
  /** Elements that have come near but have not been reported yet. */
  const pending = new Map<Element, PendingElement>();
  const mountedFarAway = new Set<Element>();
  let observer: IntersectionObserver | undefined;
  let stopListening: (() => void) | undefined;
  let frame: number | undefined;

  const notifyNearest = () => {
    frame = undefined;
    const startedAt = performance.now();
    for (const [element, { height }] of [...pending].toSorted(byDistance)) {
      pending.delete(element);
      callbacks.get(element)?.(true, height);
      if (performance.now() - startedAt >= mountingBudgetMs) break;
    }
    if (pending.size > 0) frame ??= requestAnimationFrame(notifyNearest);
  };
  const onIntersect = (entries: readonly IntersectionObserverEntry[]) => {
    for (const entry of entries) {
      const { target, isIntersecting, boundingClientRect } = entry;
      mountedFarAway.delete(target);
      const { height } = boundingClientRect;
      if (isIntersecting) pending.set(target, { distance: getDistanceFromViewport(entry), height });
      else {
        pending.delete(target);
        if (callbacks.get(target)?.(false, height) === true) mountedFarAway.add(target);
      }
    }
    if (frame === undefined) notifyNearest();
  };
  /** Observes these elements again, because an IntersectionObserver otherwise reports only changes. */
  const recheck = () => {
    for (const element of mountedFarAway) {
      observer?.unobserve(element);
      observer?.observe(element);
    }
    mountedFarAway.clear();
  };

  return {
    observe(element, onNearChange) {
      observer ??= new IntersectionObserver(onIntersect, {
        root: findScroller(element),
        rootMargin: `${nearPx}px 0px`,
      });
      stopListening ??= subscribeToUseEnd(recheck);
      callbacks.set(element, onNearChange);
      observer.observe(element);
      return () => {
        callbacks.delete(element);
        pending.delete(element);
        mountedFarAway.delete(element);
        observer?.unobserve(element);
        if (callbacks.size > 0) return;
        observer?.disconnect();
        observer = undefined;
        stopListening?.();
        stopListening = undefined;
        if (frame !== undefined) cancelAnimationFrame(frame);
        frame = undefined;
      };
    },
    notifySiblings({ previousElementSibling: above, nextElementSibling: below }) {
      for (const sibling of [above, below]) {
        if (sibling === null) continue;
        pending.delete(sibling);
        if (callbacks.get(sibling)?.(true, 0) === true) mountedFarAway.add(sibling);
      }
    },
  };
}

interface PendingElement {
  readonly distance: number;
  readonly height: number;
}

function byDistance([, a]: [Element, PendingElement], [, b]: [Element, PendingElement]): number {
  return a.distance - b.distance;
}

/** Returns the distance from the viewport in px; 0 if the element is visible or the distance is unknown. */
function getDistanceFromViewport({
  boundingClientRect: rect,
  rootBounds: nearArea,
}: IntersectionObserverEntry): number {
  if (nearArea === null) return 0;
  return Math.max(0, rect.top - (nearArea.bottom - nearPx), nearArea.top + nearPx - rect.bottom);
}
