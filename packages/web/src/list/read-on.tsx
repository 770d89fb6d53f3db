import { useEffect, useRef, useState, type RefObject } from "react";
import { Button } from "../parts/button.tsx";
import { Spinner } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { listWords } from "./words.ts";

interface ReadOnProps {
  scroll: RefObject<HTMLElement | null>;
  /** False: nothing came. */
  read: () => Promise<boolean>;
}

/** Reads on when the end comes near; it is a new one after each page. */
export function ReadOn({ scroll, read }: ReadOnProps) {
  const words = useWords(listWords);
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useInSight(place, scroll, false);
  const [hasFailed, setFailed] = useState(false);
  const start = async () => {
    setFailed(false);
    setFailed(!(await read()));
  };
  useEffect(() => {
    if (isSeen) void start();
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isSeen]);
  return (
    <div ref={place} className="list-more">
      {hasFailed ? (
        <>
          <span>{words.moreFailed}</span>
          <Button small icon="redo" onClick={() => void start()}>
            {words.retry}
          </Button>
        </>
      ) : (
        <Spinner label={words.loadingMore} />
      )}
    </div>
  );
}

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

const rows = [72, 54, 81, 63, 45, 70, 58];

/** Rows to come: where nothing is known yet, so that nothing jumps when it is. */
export function Skeleton({ label }: { label: string }) {
  return (
    <div className="list-skeleton" role="status">
      <span className="for-readers">{label}</span>
      {rows.map((width) => (
        <span key={width} className="list-ghost" data-width={Math.round(width / 15)} />
      ))}
    </div>
  );
}
