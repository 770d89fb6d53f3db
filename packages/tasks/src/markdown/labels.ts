const longest = 999;

/** What is the same for labels that mean the same; undefined for what names no link: a footnote, or a cite. */
export function labelOf(written: string): string | undefined {
  if (written.length < 40 && plain.test(written)) return written.toUpperCase();
  if (written.length > longest || noLabel.test(written)) return undefined;
  // Upper case alone does not make one of the two sharp S.
  return written.trim().replaceAll(/\s+/g, " ").toLowerCase().toUpperCase();
}

const plain = /^[\w.-]+$/;
const noLabel = /^\s*(?:\^|$)|[\u{FDD0}-\u{FDD2}]/u;

/** `[label]` at a place, and where it ends; the label may be empty. */
export function bracketsAt(
  text: string,
  from: number,
): { written: string; end: number } | undefined {
  if (text.charAt(from) !== "[") return undefined;
  const end = unescaped(text, "[]", from + 1);
  return text.charAt(end) === "]"
    ? { written: text.slice(from + 1, end), end: end + 1 }
    : undefined;
}

/** The place of the first of these characters that has no backslash before it; else the end. */
export function unescaped(text: string, characters: string, from: number): number {
  let at = from;
  while (at < text.length && !characters.includes(text.charAt(at)))
    at += text.charAt(at) === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}
