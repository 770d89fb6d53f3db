import { memo, useEffect, useRef, useState } from "react";
import { drawFormula } from "./draw-formula.ts";

interface FormulaProps {
  text: string;
  /** On lines of its own. */
  display?: boolean | undefined;
  /** It is whole. */
  ready: boolean;
}

/** What was written, until it is drawn; for ever, if it cannot be. */
export const Formula = memo(function Formula({ text, display = false, ready }: FormulaProps) {
  const place = useRef<HTMLSpanElement>(null);
  const [drawn, setDrawn] = useState<string>();
  useEffect(() => {
    const { current } = place;
    if (!ready || current === null) return undefined;
    return drawFormula(text, display, current, () => setDrawn(text));
  }, [text, display, ready]);
  const isDrawn = ready && drawn === text;
  return (
    <span className="markdown-formula" data-display={display || undefined} dir="ltr">
      <code hidden={isDrawn}>{text}</code>
      <span ref={place} hidden={!isDrawn} />
    </span>
  );
});
