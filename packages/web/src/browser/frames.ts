let pace: ReturnType<typeof framePace> | undefined;

/**
 * Runs something before a frame of this page is drawn, at the pace of all that is new: what comes in the same frame is laid
 * out and painted once. What it returns takes it back.
 */
export function inFrame(run: () => void): () => void {
  pace ??= framePace(framesOf(window));
  return pace(run);
}

/** Frames stop when a tab is hidden before the next one: then a timer does it. */
const longestFrameMs = 250;

function framesOf(window: Window & typeof globalThis): Frames {
  // A message comes when the frame in which it was sent has been drawn.
  const { port1, port2 } = new window.MessageChannel();
  let waiting: (() => void)[] = [];
  port1.addEventListener("message", () => {
    const all = waiting;
    waiting = [];
    for (const run of all) run();
  });
  port1.start();
  return {
    now: () => window.performance.now(),
    request(run) {
      const cancel = () => {
        window.cancelAnimationFrame(frame);
        window.clearTimeout(timer);
      };
      const once = () => {
        cancel();
        run();
      };
      const frame = window.requestAnimationFrame(once);
      const timer = window.setTimeout(once, longestFrameMs);
      return cancel;
    },
    drawn(run) {
      waiting.push(run);
      port2.postMessage(undefined);
    },
  };
}

/** What a browser tells of its frames. */
export interface Frames {
  readonly now: () => number;
  /** Before the next frame is drawn; what it returns takes it back. */
  readonly request: (run: () => void) => () => void;
  /** Told in a frame: when it has been drawn. */
  readonly drawn: (run: () => void) => void;
}

/** However long drawing takes, what is new waits no longer: much that is new at once takes long again. */
const longestWaitMs = 50;

/**
 * Runs something before a frame is drawn: the next one, unless the last that something was run before took long. A page
 * draws what is new for half of the time at most, so that a slow machine shows new words less often and has the other
 * frames for scrolling and typing.
 */
export function framePace({ now, request, drawn }: Frames): (run: () => void) => () => void {
  let restsUntil = -Infinity;
  return (run) => {
    let cancel = request(function next() {
      const begun = now();
      if (begun < restsUntil) {
        cancel = request(next);
        return;
      }
      run();
      // Of several that run in one frame the first has begun with it.
      drawn(() => {
        const rest = begun + Math.min(2 * (now() - begun), longestWaitMs);
        restsUntil = Math.max(restsUntil, rest);
      });
    });
    return () => cancel();
  };
}

/** At least so long work waits where nothing says when the page is idle. */
const pauseMs = 30;
/** One more thing is begun only with so much time left: at a quarter of the speed it may take all of it. */
const spareMs = 10;

/** After so long one thing is done, busy as the page may be. */
const latestMs = 1000;

let idleWork: (() => void)[] = [];
let isPlanned = false;

/** Does the work when there is nothing more important, one thing after the other. What it returns takes it back. */
export function whenIdle(work: () => void): () => void {
  idleWork.push(work);
  planIdleWork();
  return () => {
    idleWork = idleWork.filter((one) => one !== work);
  };
}

function planIdleWork(): void {
  if (isPlanned || idleWork.length === 0) return;
  isPlanned = true;
  // Safari has no such callback yet.
  if ("requestIdleCallback" in window) requestIdleCallback(runIdleWork, { timeout: latestMs });
  else setTimeout(() => runIdleWork({ didTimeout: true, timeRemaining: () => 0 }), pauseMs);
}

function runIdleWork(deadline: IdleDeadline): void {
  isPlanned = false;
  if (deadline.didTimeout) idleWork.shift()?.();
  while (idleWork.length > 0 && deadline.timeRemaining() > spareMs) idleWork.shift()?.();
  planIdleWork();
}
