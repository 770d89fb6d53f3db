import { useEffect, useRef, useState, type RefObject } from "react";
import { Button } from "../parts/button.tsx";
import { Spinner } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { useInSight } from "./use-in-sight.ts";
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
