/** How far outside of the view something is that is drawn already, in px. */
const nearPx = 1500;

type TellNear = (near: boolean, height: number) => void;

/** Tells of elements in a scroller whether they are near what is seen, with their height. */
export interface NearWatcher {
  watch(element: Element, scroller: Element | null, tell: TellNear): () => void;
}

export function createNearWatcher(): NearWatcher {
  const watched = new Map<Element, TellNear>();
  let observer: IntersectionObserver | undefined;
  return {
    watch(element, scroller, tell) {
      observer ??= new IntersectionObserver(
        (entries) => {
          for (const { target, isIntersecting, boundingClientRect } of entries)
            watched.get(target)?.(isIntersecting, boundingClientRect.height);
        },
        { root: scroller, rootMargin: `${nearPx}px 0px` },
      );
      watched.set(element, tell);
      observer.observe(element);
      return () => {
        watched.delete(element);
        observer?.unobserve(element);
        if (watched.size > 0) return;
        observer?.disconnect();
        observer = undefined;
      };
    },
  };
}
