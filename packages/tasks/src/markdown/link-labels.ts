const maxLabelLength = 999;

/** Returns the same text for equivalent labels. Undefined for footnotes and citations. */
export function normalizeLabel(source: string): string | undefined {
  if (source.length < 40 && plainLabelPattern.test(source)) return source.toUpperCase();
  if (source.length > maxLabelLength || invalidLabelPattern.test(source)) return undefined;
  // `toUpperCase` does not unify the two forms of sharp S without `toLowerCase`.
  return source.trim().replaceAll(/\s+/g, " ").toLowerCase().toUpperCase();
}

const plainLabelPattern = /^[\w.-]+$/;
const invalidLabelPattern = /^\s*(?:\^|$)|[\u{FDD0}-\u{FDD2}]/u;

/** Parses `[label]` at a position. The label may be empty. */
export function parseBrackets(
  text: string,
  from: number,
): { source: string; end: number } | undefined {
  if (text.charAt(from) !== "[") return undefined;
  const end = findUnescaped(text, "[]", from + 1);
  return text.charAt(end) === "]" ? { source: text.slice(from + 1, end), end: end + 1 } : undefined;
}

/** Returns the position of the first unescaped occurrence of one of the characters, or the length of the text. */
export function findUnescaped(text: string, characters: string, from: number): number {
  let position = from;
  while (position < text.length && !characters.includes(text.charAt(position)))
    position += text.charAt(position) === "\\" ? 2 : 1;
  return Math.min(position, text.length);
}
