/** A formula on lines of its own, between `$$` and `$$` or between `\[` and `\]`. */
export type MathStart = { closing: string; text: string; closed: boolean };

export function mathOf(line: string): MathStart | undefined {
  const closing = closings[line.slice(0, 2)];
  if (closing === undefined) return undefined;
  const text = line.slice(2).trimEnd();
  const end = text.indexOf(closing);
  // `\[` is also an escaped bracket.
  if (end === -1 && closing === "\\]" && text.trim() !== "" && !signs.test(text)) return undefined;
  if (end === -1) return { closing, text: text.trim(), closed: false };
  const whole = end === text.length - 2 && end > 0;
  const formula = text.slice(0, end).trim();
  // `\[1\]` is how some write brackets.
  if (!whole || formula === "" || (closing === "\\]" && numbers.test(formula))) return undefined;
  return { closing, text: formula, closed: true };
}

const closings: Readonly<Record<string, string>> = { $$: "$$", "\\[": "\\]" };

const signs = /[\\^_=+<>{}]/;
const numbers = /^[\d\s,;-]*$/;
