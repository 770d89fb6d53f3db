import type { katex as Katex } from "./katex.ts";
import { whenIdle } from "./idle.ts";

/** A longer one would hold up the page. */
const longest = 2000;

/** Draws a formula into an element when the page is idle, if it is one that can be drawn. What it returns stops it. */
export function drawFormula(text: string, displayMode: boolean, place: HTMLElement): () => void {
  if (text.length > longest) return () => {};
  let isStopped = false;
  let stop = () => {};
  const draw = (katex: typeof Katex) => {
    if (isStopped) return;
    stop = whenIdle(() => {
      try {
        katex.render(text, place, {
          displayMode,
          throwOnError: true,
          strict: "ignore",
          trust: false,
          maxSize: 10,
          maxExpand: 1000,
        });
      } catch {
        // What was written stays.
      }
    });
  };
  loading ??= load();
  loading.then(draw, () => {
    loading = undefined;
  });
  return () => {
    isStopped = true;
    stop();
  };
}

let loading: Promise<typeof Katex> | undefined;

async function load(): Promise<typeof Katex> {
  return (await import("./katex.ts")).katex;
}
