import { useSyncExternalStore } from "react";
import { cell } from "../state/cell.ts";
import { useFormat } from "../words/format.ts";

/** The time that something takes, while it takes it. Draws itself alone. */
export function Elapsed({ since }: { since: number }) {
  const format = useFormat();
  const now = useSyncExternalStore(subscribe, clock.get, clock.get);
  return <span className="answer-time">{format.duration(Math.max(0, now - since))}</span>;
}

/** When this page saw something for the first time: what has no time of its own is counted from there. */
export function firstSeen(id: string): number {
  const known = seen.get(id) ?? Date.now();
  seen.set(id, known);
  return known;
}

const seen = new Map<string, number>();

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
