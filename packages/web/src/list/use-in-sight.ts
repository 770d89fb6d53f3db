import { useEffect, useState, type RefObject } from "react";

/** How far outside of what is seen something counts as near, in px. */
const near = 800;

export function useInSight(
  place: RefObject<Element | null>,
  scroll: RefObject<Element | null>,
  atFirst: boolean,
): boolean {
  const [isNear, setNear] = useState(atFirst);
  useEffect(() => {
    if (place.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.at(-1)?.isIntersecting === true),
      { root: scroll.current, rootMargin: `${near}px 0px` },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [place, scroll]);
  return isNear;
}
