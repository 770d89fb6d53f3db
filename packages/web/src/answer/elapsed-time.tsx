import { useSyncExternalStore } from "react";
import { createCell } from "../cell.ts";
import { useFormatter } from "../messages/format.ts";

/** A running timer. Renders nothing if `startedAt` is not a valid time. A tick does not rerender the parent. */
export function ElapsedTime({ startedAt }: { startedAt: string | undefined }) {
  const startedAtMs = Date.parse(startedAt ?? "");
  return Number.isNaN(startedAtMs) ? null : <TickingTime startedAtMs={startedAtMs} />;
}

function TickingTime({ startedAtMs }: { startedAtMs: number }) {
  const format = useFormatter();
  const getText = () => format.duration(Math.max(0, clock.get() - startedAtMs));
  const text = useSyncExternalStore(subscribeToClock, getText, getText);
  return <span className="answer-time">{text}</span>;
}

/** Returns the seconds left until `waitMs` after `startedAt`; never more than `waitMs`, because the server's clock may differ. */
export function useSecondsLeft(startedAt: string | undefined, waitMs: number): number {
  const deadline = Date.parse(startedAt ?? "") + waitMs;
  const getSecondsLeft = () => {
    if (Number.isNaN(deadline)) return Math.ceil(waitMs / 1000);
    return Math.ceil(Math.min(Math.max(0, deadline - clock.get()), waitMs) / 1000);
  };
  return useSyncExternalStore(subscribeToClock, getSecondsLeft, getSecondsLeft);
}

const clock = createCell(Date.now());
let subscriberCount = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribeToClock(listener: () => void): () => void {
  const unsubscribe = clock.subscribe(listener);
  subscriberCount += 1;
  if (subscriberCount === 1) {
    clock.set(Date.now());
    timer = setInterval(() => clock.set(Date.now()), 200);
  }
  return () => {
    unsubscribe();
    subscriberCount -= 1;
    if (subscriberCount === 0) clearInterval(timer);
  };
}
