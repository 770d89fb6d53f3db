import { useSyncExternalStore } from "react";
import { createCell } from "../cell.ts";

/** Returns the current time, updated every minute. */
export function useNow(): Date {
  return useSyncExternalStore(subscribeToMinutes, currentMinute.get, currentMinute.get);
}

const currentMinute = createCell(new Date());
let subscriberCount = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribeToMinutes(listener: () => void): () => void {
  const stop = currentMinute.subscribe(listener);
  subscriberCount += 1;
  if (subscriberCount === 1) {
    currentMinute.set(new Date());
    timer = setInterval(() => currentMinute.set(new Date()), 60_000);
  }
  return () => {
    stop();
    subscriberCount -= 1;
    if (subscriberCount === 0) clearInterval(timer);
  };
}
