import { memo, useEffect, useRef } from "react";
import { drawFormula } from "./draw-formula.ts";

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
