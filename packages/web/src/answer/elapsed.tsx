import { useSyncExternalStore } from "react";
import { cell } from "../cell.ts";
import { useFormat } from "../words/format.ts";

/** The time that something takes, while it takes it; nothing where nobody knows when it began. Draws itself alone. */
export function Elapsed({ since }: { since: string | undefined }) {
  const began = Date.parse(since ?? "");
  return Number.isNaN(began) ? null : <Ticking since={began} />;
}

function Ticking({ since }: { since: number }) {
  const format = useFormat();
  const text = () => format.duration(Math.max(0, clock.get() - since));
  return <span className="answer-time">{useSyncExternalStore(subscribe, text, text)}</span>;
}

/** Whole seconds until `waitMs` after `since`, never more than that: the server's clock may be another. */
export function useSecondsLeft(since: string | undefined, waitMs: number): number {
  const until = Date.parse(since ?? "") + waitMs;
  const left = () => {
    if (Number.isNaN(until)) return Math.ceil(waitMs / 1000);
    return Math.ceil(Math.min(Math.max(0, until - clock.get()), waitMs) / 1000);
  };
  return useSyncExternalStore(subscribe, left, left);
}

const clock = cell(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  const stop = clock.subscribe(listener);
  readers += 1;
  if (readers === 1) {
    clock.set(Date.now());
    timer = setInterval(() => clock.set(Date.now()), 200);
  }
  return () => {
    stop();
    readers -= 1;
    if (readers === 0) clearInterval(timer);
  };
}
