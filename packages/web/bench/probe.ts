/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="dom.asynciterable" />

/* What is run within the page: each function is sent there as its text, so none may use anything outside of itself. */

/** What the page's own clock has seen, in ms. */
export interface Recording {
  /** When frames were drawn. */
  frames: number[];
  /** What kept the main thread for more than 50 ms. */
  tasks: { at: number; ms: number }[];
  /** When something was written into the page. */
  changes: number[];
}

interface Recorder extends Recording {
  stop: () => void;
}

type Holder = { recorder?: Recorder };

export function startRecording(): void {
  const recorder: Recorder = { frames: [], tasks: [], changes: [], stop: () => {} };
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      recorder.tasks.push({ at: startTime, ms: duration });
  });
  observer.observe({ type: "longtask" });
  const changes = new MutationObserver(() => recorder.changes.push(performance.now()));
  changes.observe(document.body, { subtree: true, childList: true, characterData: true });
  let frame = requestAnimationFrame(function next(at) {
    recorder.frames.push(at);
    frame = requestAnimationFrame(next);
  });
  recorder.stop = () => {
    cancelAnimationFrame(frame);
    changes.disconnect();
    for (const { startTime, duration } of observer.takeRecords())
      recorder.tasks.push({ at: startTime, ms: duration });
    observer.disconnect();
  };
  (globalThis as Holder).recorder = recorder;
}

export function stopRecording(): Recording {
  const { recorder } = globalThis as Holder;
  if (recorder === undefined) throw new Error("nothing was recorded");
  recorder.stop();
  const { frames, tasks, changes } = recorder;
  return { frames, tasks, changes };
}

export function now(): number {
  return performance.now();
}

/** No answer is being written: it has ended, or a person is asked. */
export function isWritten(): boolean {
  return document.querySelector('article[aria-busy="true"]:not(:has(.approvals-card))') === null;
}

/** What the floor's page is there for. */
export function runFloor(): Promise<void> {
  return (globalThis as unknown as { run: () => Promise<void> }).run();
}

/** Of the last answer, or of a page that has none. */
export function letters(): number {
  const last = [...document.querySelectorAll("article")].at(-1) ?? document.body;
  return last.textContent.length;
}

export function elements(): number {
  return document.getElementsByTagName("*").length;
}

/** Upwards, so many px each frame, for so long. */
export function scrollUp({ px, ms }: { px: number; ms: number }): Promise<void> {
  const scroller = document.querySelector(".chat-scroller");
  if (scroller === null) throw new Error("there is nothing to scroll");
  const begun = performance.now();
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      scroller.scrollTop -= px;
      if (performance.now() - begun < ms) requestAnimationFrame(next);
      else resolve();
    });
  });
}

/** Goes to a place within the page; ms until this node was drawn. */
export function goTo({ hash, nodeId }: { hash: string; nodeId: string }): Promise<number> {
  const begun = performance.now();
  location.hash = hash;
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      if (document.querySelector(`[data-node="${nodeId}"]`) === null) requestAnimationFrame(next);
      // In the frame after the one that has drawn it.
      else requestAnimationFrame(() => resolve(performance.now() - begun));
    });
  });
}

/** The same of a page that has just been asked for, by its own clock. */
export function drawn({ nodeId }: { nodeId: string }): Promise<number> {
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      if (document.querySelector(`[data-node="${nodeId}"]`) === null) requestAnimationFrame(next);
      else requestAnimationFrame(() => resolve(performance.now()));
    });
  });
}
