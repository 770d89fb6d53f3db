import { memo, useEffect, useRef } from "react";
import type { formulaNode as FormulaNode } from "./katex.ts";
import { inFrame, whenIdle } from "../browser/frames.ts";

interface FormulaProps {
  text: string;
  /** On lines of its own. */
  display?: boolean | undefined;
  /** It is whole. */
  ready: boolean;
}

/** What was written, until it is drawn, for which the style hides it; for ever, if it cannot be. */
export const Formula = memo(function Formula({ text, display = false, ready }: FormulaProps) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const { current } = place;
    if (!ready || current === null) return undefined;
    const stop = drawFormula(text, display, current);
    return () => {
      stop();
      current.replaceChildren();
    };
  }, [text, display, ready]);
  return (
    <span className="markdown-formula" data-display={display || undefined} dir="ltr">
      <span ref={place} />
      <code>{text}</code>
    </span>
  );
});

/** A longer one would hold up the page. */
const longest = 2000;

/**
 * Draws a formula when the page is idle, if it is one that can be drawn, and puts it into an element together with what
 * else is new. What it returns stops it.
 */
function drawFormula(text: string, displayMode: boolean, place: HTMLElement): () => void {
  if (text.length > longest) return () => {};
  let isStopped = false;
  let stop = () => {};
  const draw = (formulaNode: typeof FormulaNode) => {
    if (isStopped) return;
    stop = whenIdle(() => {
      let drawn: Node;
      try {
        drawn = formulaNode(text, {
          displayMode,
          throwOnError: true,
          strict: "ignore",
          trust: false,
          maxSize: 10,
          maxExpand: 1000,
        });
      } catch {
        return; // What was written stays.
      }
      stop = inFrame(() => place.replaceChildren(drawn));
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

let loading: Promise<typeof FormulaNode> | undefined;

async function load(): Promise<typeof FormulaNode> {
  return (await import("./katex.ts")).formulaNode;
}
