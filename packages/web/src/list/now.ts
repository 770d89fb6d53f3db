import { useSyncExternalStore } from "react";
import { cell } from "../cell.ts";

/** The time to the minute, for "today" and "yesterday". */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, minute.get, minute.get);
}

const minute = cell(new Date());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  const stop = minute.subscribe(listener);
  readers += 1;
  if (readers === 1) {
    minute.set(new Date());
    timer = setInterval(() => minute.set(new Date()), 60_000);
  }
  return () => {
    stop();
    readers -= 1;
    if (readers === 0) clearInterval(timer);
  };
}
