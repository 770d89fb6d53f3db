/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/// <reference lib="dom.asynciterable" />

/* Functions that run inside the page. Playwright sends each one as source text, so none may use anything outside of itself. */

/** All times are `performance.now()` of the page, in ms. */
export interface Recording {
  /** Times of animation frames. */
  frames: number[];
  /** Long tasks: over 50 ms on the main thread. */
  tasks: { startedAt: number; ms: number }[];
  /** Times of DOM mutations. */
  changes: number[];
}

interface Recorder extends Recording {
  stop: () => void;
}

type RecorderGlobal = { recorder?: Recorder };

export function startRecording(): void {
  const recorder: Recorder = { frames: [], tasks: [], changes: [], stop: () => {} };
  const taskObserver = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      recorder.tasks.push({ startedAt: startTime, ms: duration });
  });
  taskObserver.observe({ type: "longtask" });
  const changeObserver = new MutationObserver(() => recorder.changes.push(performance.now()));
  changeObserver.observe(document.body, { subtree: true, childList: true, characterData: true });
  let frame = requestAnimationFrame(function next(time) {
    recorder.frames.push(time);
    frame = requestAnimationFrame(next);
  });
  recorder.stop = () => {
    cancelAnimationFrame(frame);
    changeObserver.disconnect();
    for (const { startTime, duration } of taskObserver.takeRecords())
      recorder.tasks.push({ startedAt: startTime, ms: duration });
    taskObserver.disconnect();
  };
  (globalThis as RecorderGlobal).recorder = recorder;
}

export function stopRecording(): Recording {
  const { recorder } = globalThis as RecorderGlobal;
  if (recorder === undefined) throw new Error("stopRecording was called before startRecording");
  recorder.stop();
  const { frames, tasks, changes } = recorder;
  return { frames, tasks, changes };
}

export function readClock(): number {
  return performance.now();
}

/** True if no answer is streaming: all have ended or wait for an approval. */
export function isAnswerComplete(): boolean {
  return document.querySelector('article[aria-busy="true"]:not(:has(.approvals-card))') === null;
}

/** Starts the stream of the page in floor.ts. */
export function runFloorPage(): Promise<void> {
  return (globalThis as unknown as { run: () => Promise<void> }).run();
}

/** Returns the text length of the last message, or of a page without messages. */
export function countCharacters(): number {
  const last = [...document.querySelectorAll("article")].at(-1) ?? document.body;
  return last.textContent.length;
}

export function countElements(): number {
  return document.getElementsByTagName("*").length;
}

/** Scrolls up by `px` per frame for `ms`. */
export function scrollUp({ px, ms }: { px: number; ms: number }): Promise<void> {
  const scroller = document.querySelector(".chat-scroller");
  if (scroller === null) throw new Error("no chat is open");
  const startedAt = performance.now();
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      scroller.scrollTop -= px;
      if (performance.now() - startedAt < ms) requestAnimationFrame(next);
      else resolve();
    });
  });
}

/** Navigates inside the page. Resolves to the time in ms until the node is rendered. */
export function measureNavigation({
  hash,
  nodeId,
}: {
  hash: string;
  nodeId: string;
}): Promise<number> {
  const startedAt = performance.now();
  location.hash = hash;
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      if (document.querySelector(`[data-node="${nodeId}"]`) === null) requestAnimationFrame(next);
      // The frame after the one that rendered it.
      else requestAnimationFrame(() => resolve(performance.now() - startedAt));
    });
  });
}

/** Resolves to the time in ms from the start of the page load until the node is rendered. */
export function waitForNode({ nodeId }: { nodeId: string }): Promise<number> {
  return new Promise((resolve) => {
    requestAnimationFrame(function next() {
      if (document.querySelector(`[data-node="${nodeId}"]`) === null) requestAnimationFrame(next);
      else requestAnimationFrame(() => resolve(performance.now()));
    });
  });
}
