/** Elements within this distance of the viewport count as near. */
const nearPx = 1500;
/** No further element is mounted in a frame after this time. */
const mountingMs = 5;

/** Mounts or unmounts an element. Returns true if it is mounted now: an element in use stays mounted. */
type OnNearChange = (near: boolean, height: number) => boolean;

/**
 * Reports which elements of a scroller are near the viewport, with their height. Elements that come near are reported the
 * nearest first, and only as many per frame as can be mounted in it, so that the page stays responsive. The callback must
 * mount synchronously.
 */
export interface ViewportObserver {
  watch(element: Element, onNearChange: OnNearChange): () => void;
  /** Reports the siblings of a focused element at once: Tab may be pressed before the next frame. */
  notifyBeside(element: Element): void;
}

/**
 * `scrollerAround` is called with the first element and applies to all. `onUseEnd` subscribes to moments when elements that
 * were kept mounted because they were in use can be unmounted.
 */
export function createViewportObserver(
  scrollerAround: (element: Element) => Element | null,
  onUseEnd: (listener: () => void) => () => void,
): ViewportObserver {
  const watched = new Map<Element, OnNearChange>();
  /** Elements that have come near and are not reported yet. */
  const coming = new Map<Element, Coming>();
  const mountedFarAway = new Set<Element>();
  let observer: IntersectionObserver | undefined;
  let stopListening: (() => void) | undefined;
  let frame: number | undefined;

  const notifyNearest = () => {
    frame = undefined;
    const begun = performance.now();
    for (const [element, { height }] of [...coming].toSorted(byDistance)) {
      coming.delete(element);
      watched.get(element)?.(true, height);
      if (performance.now() - begun >= mountingMs) break;
    }
    if (coming.size > 0) frame ??= requestAnimationFrame(notifyNearest);
  };
  const look = (entries: readonly IntersectionObserverEntry[]) => {
    for (const entry of entries) {
      const { target, isIntersecting, boundingClientRect } = entry;
      mountedFarAway.delete(target);
      const { height } = boundingClientRect;
      if (isIntersecting) coming.set(target, { away: awayFrom(entry), height });
      else {
        coming.delete(target);
        if (watched.get(target)?.(false, height) === true) mountedFarAway.add(target);
      }
    }
    if (frame === undefined) notifyNearest();
  };
  /** An IntersectionObserver reports changes and newly observed elements only. */
  const recheck = () => {
    for (const element of mountedFarAway) {
      observer?.unobserve(element);
      observer?.observe(element);
    }
    mountedFarAway.clear();
  };

  return {
    watch(element, onNearChange) {
      observer ??= new IntersectionObserver(look, {
        root: scrollerAround(element),
        rootMargin: `${nearPx}px 0px`,
      });
      stopListening ??= onUseEnd(recheck);
      watched.set(element, onNearChange);
      observer.observe(element);
      return () => {
        watched.delete(element);
        coming.delete(element);
        mountedFarAway.delete(element);
        observer?.unobserve(element);
        if (watched.size > 0) return;
        observer?.disconnect();
        observer = undefined;
        stopListening?.();
        stopListening = undefined;
        if (frame !== undefined) cancelAnimationFrame(frame);
        frame = undefined;
      };
    },
    notifyBeside({ previousElementSibling: above, nextElementSibling: below }) {
      for (const beside of [above, below]) {
        if (beside === null) continue;
        coming.delete(beside);
        if (watched.get(beside)?.(true, 0) === true) mountedFarAway.add(beside);
      }
    },
  };
}

interface Coming {
  readonly away: number;
  readonly height: number;
}

function byDistance([, one]: [Element, Coming], [, other]: [Element, Coming]): number {
  return one.away - other.away;
}

/** Distance from the viewport in px; 0 if it is visible or unknown. */
function awayFrom({
  boundingClientRect: box,
  rootBounds: near,
}: IntersectionObserverEntry): number {
  if (near === null) return 0;
  return Math.max(0, box.top - (near.bottom - nearPx), near.top + nearPx - box.bottom);
}
