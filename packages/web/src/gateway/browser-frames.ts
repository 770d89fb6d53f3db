import { framePace, type Frames } from "./frame-pace.ts";

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
