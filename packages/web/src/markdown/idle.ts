/** At least so long work waits where nothing says when the page is idle. */
const pauseMs = 30;
/** One more thing is begun only with so much time left: at a quarter of the speed it may take all of it. */
const spareMs = 10;

/** After so long one thing is done, busy as the page may be. */
const latestMs = 1000;

let waiting: (() => void)[] = [];
let isPlanned = false;

/** Does the work when there is nothing more important, one thing after the other. What it returns takes it back. */
export function whenIdle(work: () => void): () => void {
  waiting.push(work);
  plan();
  return () => {
    waiting = waiting.filter((one) => one !== work);
  };
}

function plan(): void {
  if (isPlanned || waiting.length === 0) return;
  isPlanned = true;
  // Safari has no such callback yet.
  if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: latestMs });
  else setTimeout(() => run({ didTimeout: true, timeRemaining: () => 0 }), pauseMs);
}

function run(deadline: IdleDeadline): void {
  isPlanned = false;
  if (deadline.didTimeout) waiting.shift()?.();
  while (waiting.length > 0 && deadline.timeRemaining() > spareMs) waiting.shift()?.();
  plan();
}
