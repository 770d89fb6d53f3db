import { memo, useEffect, useRef } from "react";
import type { renderFormulaNode } from "./katex.ts";
import { scheduleFrame, runWhenIdle } from "../browser/frame-scheduler.ts";

interface FormulaProps {
  text: string;
  /** True for a display formula, on a separate line. */
  display?: boolean | undefined;
  /** False while it is still streaming. */
  isComplete: boolean;
}

/** Shows the source until the formula is rendered; CSS then hides the source. The source of an invalid formula stays visible. */
export const Formula = memo(function Formula({ text, display = false, isComplete }: FormulaProps) {
  const container = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const { current } = container;
    if (!isComplete || current === null) return undefined;
    const stop = renderFormula(text, display, current);
    return () => {
      stop();
      current.replaceChildren();
    };
  }, [text, display, isComplete]);
  return (
    <span className="markdown-formula" data-display={display || undefined} dir="ltr">
      <span ref={container} />
      <code>{text}</code>
    </span>
  );
});

/** In characters. Rendering a longer formula would block the page. */
const maxFormulaLength = 2000;

/**
 * Renders a formula when the page is idle and inserts it in the next scheduled frame. An invalid formula is not inserted.
 * Returns a function that cancels it.
 */
function renderFormula(text: string, displayMode: boolean, container: HTMLElement): () => void {
  if (text.length > maxFormulaLength) return () => {};
  let isStopped = false;
  let stop = () => {};
  const render = (renderNode: typeof renderFormulaNode) => {
    if (isStopped) return;
    stop = runWhenIdle(() => {
      let formulaNode: Node;
      try {
        formulaNode = renderNode(text, {
          displayMode,
          throwOnError: true,
          strict: "ignore",
          trust: false,
          maxSize: 10,
          maxExpand: 1000,
        });
      } catch {
        return; // The source stays visible.
      }
      stop = scheduleFrame(() => container.replaceChildren(formulaNode));
    });
  };
  katexPromise ??= loadKatex();
  katexPromise.then(render, () => {
    katexPromise = undefined;
  });
  return () => {
    isStopped = true;
    stop();
  };
}

let katexPromise: Promise<typeof renderFormulaNode> | undefined;

async function loadKatex(): Promise<typeof renderFormulaNode> {
  return (await import("./katex.ts")).renderFormulaNode;
}
