/** How far outside of the view something is that is drawn already, in px. */
const nearPx = 1500;
/** So long they are drawn in one frame, one after the other; the last one takes as long as it takes. */
const drawingMs = 5;

/** Answers with whether it is drawn now: what is in use stays so though it is far. */
type TellNear = (near: boolean, height: number) => boolean;

/**
 * Tells of elements in a scroller whether they are near what is seen, with their height. Those that come near are
 * told the nearest first, and in each frame as many as can be drawn in it: to draw many at once would hold up the page.
 * Whoever is told draws at once.
 */
export interface ViewportObserver {
  watch(element: Element, tell: TellNear): () => void;
  /** Tells at once of those beside one that has the focus: whoever presses Tab is faster than the frames. */
  tellBeside(element: Element): void;
}

/**
 * `scrollerAround`: asked with the first element, for all. `onUseEnd`: tells when those that are drawn though they are
 * far may have no reason for it any more.
 */
export function createViewportObserver(
  scrollerAround: (element: Element) => Element | null,
  onUseEnd: (listener: () => void) => () => void,
): ViewportObserver {
  const watched = new Map<Element, TellNear>();
  /** Those that have come near and are not told yet, with how far away they are. */
  const coming = new Map<Element, Coming>();
  const drawnFarAway = new Set<Element>();
  let observer: IntersectionObserver | undefined;
  let stopHearing: (() => void) | undefined;
  let frame: number | undefined;

  const tellNearest = () => {
    frame = undefined;
    const begun = performance.now();
    for (const [element, { height }] of [...coming].toSorted(byDistance)) {
      coming.delete(element);
      watched.get(element)?.(true, height);
      if (performance.now() - begun >= drawingMs) break;
    }
    if (coming.size > 0) frame ??= requestAnimationFrame(tellNearest);
  };
  const look = (entries: readonly IntersectionObserverEntry[]) => {
    for (const entry of entries) {
      const { target, isIntersecting, boundingClientRect } = entry;
      drawnFarAway.delete(target);
      const { height } = boundingClientRect;
      if (isIntersecting) coming.set(target, { away: awayFrom(entry), height });
      else {
        coming.delete(target);
        if (watched.get(target)?.(false, height) === true) drawnFarAway.add(target);
      }
    }
    if (frame === undefined) tellNearest();
  };
  /** The observer speaks of what has changed, and of what it has not observed yet. */
  const lookAgain = () => {
    for (const element of drawnFarAway) {
      observer?.unobserve(element);
      observer?.observe(element);
    }
    drawnFarAway.clear();
  };

  return {
    watch(element, tell) {
      observer ??= new IntersectionObserver(look, {
        root: scrollerAround(element),
        rootMargin: `${nearPx}px 0px`,
      });
      stopHearing ??= onUseEnd(lookAgain);
      watched.set(element, tell);
      observer.observe(element);
      return () => {
        watched.delete(element);
        coming.delete(element);
        drawnFarAway.delete(element);
        observer?.unobserve(element);
        if (watched.size > 0) return;
        observer?.disconnect();
        observer = undefined;
        stopHearing?.();
        stopHearing = undefined;
        if (frame !== undefined) cancelAnimationFrame(frame);
        frame = undefined;
      };
    },
    tellBeside({ previousElementSibling: above, nextElementSibling: below }) {
      for (const beside of [above, below]) {
        if (beside === null) continue;
        coming.delete(beside);
        if (watched.get(beside)?.(true, 0) === true) drawnFarAway.add(beside);
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

/** From what is seen, in px; 0 of what can be seen, and where nothing is known. */
function awayFrom({
  boundingClientRect: box,
  rootBounds: near,
}: IntersectionObserverEntry): number {
  if (near === null) return 0;
  return Math.max(0, box.top - (near.bottom - nearPx), near.top + nearPx - box.bottom);
}
