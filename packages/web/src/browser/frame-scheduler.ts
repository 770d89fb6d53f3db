let scheduler: ReturnType<typeof createFrameScheduler> | undefined;

/**
 * Runs a callback in an animation frame of this page. All updates of the page share one scheduler, so that updates of the
 * same frame cause one layout and paint. Returns a function that cancels it.
 */
export function scheduleFrame(run: () => void): () => void {
  scheduler ??= createFrameScheduler(createFrameSource(window));
  return scheduler(run);
}

/** Delay of a fallback timer, because a hidden tab has no frames. */
const frameTimeoutMs = 250;

function createFrameSource(window: Window & typeof globalThis): FrameSource {
  // A message arrives after the frame in which it was posted has been painted.
  const { port1, port2 } = new window.MessageChannel();
  let pending: (() => void)[] = [];
  port1.addEventListener("message", () => {
    const callbacks = pending;
    pending = [];
    for (const run of callbacks) run();
  });
  port1.start();
  return {
    now: () => window.performance.now(),
    request(run) {
      const cancel = () => {
        window.cancelAnimationFrame(frame);
        window.clearTimeout(timer);
      };
      const runOnce = () => {
        cancel();
        run();
      };
      const frame = window.requestAnimationFrame(runOnce);
      const timer = window.setTimeout(runOnce, frameTimeoutMs);
      return cancel;
    },
    afterPaint(run) {
      pending.push(run);
      port2.postMessage(undefined);
    },
  };
}

/** The browser's animation frames. */
export interface FrameSource {
  readonly now: () => number;
  /** Calls `run` before the next frame is painted. Returns a function that cancels it. */
  readonly request: (run: () => void) => () => void;
  /** Calls `run` after the current frame has been painted. Must be called in a frame. */
  readonly afterPaint: (run: () => void) => void;
}

/** Longest pause between renders. With longer pauses, updates pile up and take long to render. */
const maxPauseMs = 50;

/**
 * Returns a function like `scheduleFrame`. It runs a callback in the next frame, or in a later one if the last frame took
 * long: rendering takes at most half of the time, so that a slow machine shows new text less often and keeps frames for
 * scrolling and typing.
 */
export function createFrameScheduler({
  now,
  request,
  afterPaint,
}: FrameSource): (run: () => void) => () => void {
  let pausedUntil = -Infinity;
  return (run) => {
    let cancel = request(function next() {
      const startedAt = now();
      if (startedAt < pausedUntil) {
        cancel = request(next);
        return;
      }
      run();
      // Of several callbacks in a frame, the first started earliest and therefore measures the complete frame.
      afterPaint(() => {
        const pauseEnd = startedAt + Math.min(2 * (now() - startedAt), maxPauseMs);
        pausedUntil = Math.max(pausedUntil, pauseEnd);
      });
    });
    return () => cancel();
  };
}

/** Delay of idle tasks in browsers without `requestIdleCallback`. */
const idleFallbackMs = 30;
/** The next task starts only if this much idle time is left: a task may need all of it on a machine that is four times slower. */
const minIdleMs = 10;

/** After this time, one task runs even if the page is busy. */
const idleTimeoutMs = 1000;

let idleQueue: (() => void)[] = [];
let isIdleScheduled = false;

/** Runs a task when the page is idle, after the tasks queued before it. Returns a function that cancels it. */
export function runWhenIdle(task: () => void): () => void {
  idleQueue.push(task);
  scheduleIdleTasks();
  return () => {
    idleQueue = idleQueue.filter((queuedTask) => queuedTask !== task);
  };
}

function scheduleIdleTasks(): void {
  if (isIdleScheduled || idleQueue.length === 0) return;
  isIdleScheduled = true;
  // Safari does not support `requestIdleCallback` yet.
  if ("requestIdleCallback" in window)
    requestIdleCallback(runIdleTasks, { timeout: idleTimeoutMs });
  else setTimeout(() => runIdleTasks({ didTimeout: true, timeRemaining: () => 0 }), idleFallbackMs);
}

function runIdleTasks(deadline: IdleDeadline): void {
  isIdleScheduled = false;
  if (deadline.didTimeout) idleQueue.shift()?.();
  while (idleQueue.length > 0 && deadline.timeRemaining() > minIdleMs) idleQueue.shift()?.();
  scheduleIdleTasks();
}
