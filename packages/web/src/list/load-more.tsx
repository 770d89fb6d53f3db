import { useEffect, useRef, useState, type RefObject } from "react";
import { Button } from "../ui/button.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { chatListMessages } from "./messages.ts";

interface LoadMoreTriggerProps {
  scroller: RefObject<HTMLElement | null>;
  /** Resolves to false if loading failed. */
  loadMore: () => Promise<boolean>;
}

/** Loads the next page when it comes near the viewport. Each page needs a new `key`. */
export function LoadMoreTrigger({ scroller, loadMore }: LoadMoreTriggerProps) {
  const t = useMessages(chatListMessages);
  const element = useRef<HTMLDivElement>(null);
  const isNear = useIsNearViewport(element, scroller, false);
  const [hasFailed, setFailed] = useState(false);
  const load = async () => {
    setFailed(false);
    setFailed(!(await loadMore()));
  };
  useEffect(() => {
    if (isNear) void load();
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isNear]);
  return (
    <div ref={element} className="list-more">
      {hasFailed ? (
        <>
          <span>{t.moreFailed}</span>
          <Button small icon="redo" onClick={() => void load()}>
            {t.retry}
          </Button>
        </>
      ) : (
        <Spinner label={t.loadingMore} />
      )}
    </div>
  );
}

/** Elements within this distance of the viewport count as near. */
const nearPx = 800;

export function useIsNearViewport(
  element: RefObject<Element | null>,
  scroller: RefObject<Element | null>,
  initialValue: boolean,
): boolean {
  const [isNear, setNear] = useState(initialValue);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.at(-1)?.isIntersecting === true),
      { root: scroller.current, rootMargin: `${nearPx}px 0px` },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, scroller]);
  return isNear;
}

const skeletonWidths = [72, 54, 81, 63, 45, 70, 58];

/** Placeholder rows, so that the layout does not jump when the chats arrive. */
export function ChatListSkeleton({ label }: { label: string }) {
  return (
    <div className="list-skeleton" role="status">
      <span className="visually-hidden">{label}</span>
      {skeletonWidths.map((width) => (
        <span key={width} className="list-skeleton-row" data-width={Math.round(width / 15)} />
      ))}
    </div>
  );
}
