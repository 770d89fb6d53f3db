/** How far outside of the view something is that is drawn already, in px. */
const nearPx = 1500;

type TellNear = (near: boolean, height: number) => void;

/**
 * Tells of elements in a scroller whether they are near what is seen, with their height. Of those that come near one is
 * told in each frame, the nearest first: to draw many at once would hold up the page.
 */
export interface NearWatcher {
  watch(element: Element, scroller: Element | null, tell: TellNear): () => void;
}

export function createNearWatcher(): NearWatcher {
  const watched = new Map<Element, TellNear>();
  /** Those that have come near and are not told yet, with how far away they are. */
  const coming = new Map<Element, { away: number; height: number }>();
  let observer: IntersectionObserver | undefined;
  let frame: number | undefined;

  const tellNearest = () => {
    frame = undefined;
    const [nearest] = [...coming].toSorted(([, one], [, other]) => one.away - other.away);
    if (nearest === undefined) return;
    const [element, { height }] = nearest;
    coming.delete(element);
    watched.get(element)?.(true, height);
    plan();
  };
  const plan = () => {
    if (coming.size > 0) frame ??= requestAnimationFrame(tellNearest);
  };
  const look = (entries: readonly IntersectionObserverEntry[]) => {
    for (const entry of entries) {
      const { target, isIntersecting, boundingClientRect } = entry;
      const { height } = boundingClientRect;
      if (isIntersecting) coming.set(target, { away: awayFrom(entry), height });
      else {
        coming.delete(target);
        watched.get(target)?.(false, height);
      }
    }
    if (frame === undefined) tellNearest();
  };

  return {
    watch(element, scroller, tell) {
      observer ??= new IntersectionObserver(look, {
        root: scroller,
        rootMargin: `${nearPx}px 0px`,
      });
      watched.set(element, tell);
      observer.observe(element);
      return () => {
        watched.delete(element);
        coming.delete(element);
        observer?.unobserve(element);
        if (watched.size > 0) return;
        observer?.disconnect();
        observer = undefined;
        if (frame !== undefined) cancelAnimationFrame(frame);
        frame = undefined;
      };
    },
  };
}

/** From what is seen, in px; 0 of what can be seen, and where nothing is known. */
function awayFrom({
  boundingClientRect: box,
  rootBounds: near,
}: IntersectionObserverEntry): number {
  if (near === null) return 0;
  return Math.max(0, box.top - (near.bottom - nearPx), near.top + nearPx - box.bottom);
}
