/** A part of a text that is private: half-open, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
  kind: string;
  label: string;
}

/**
 * Spans in their order, none of which overlap. Those that do become one, so that nothing of either stays behind; it is of
 * the kind of the longer.
 */
export function united(spans: Span[]): Span[] {
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const result: Span[] = [];
  let longest = 0;
  for (const span of sorted) {
    const last = result.at(-1);
    const length = span.end - span.start;
    if (last === undefined || span.start >= last.end) {
      result.push({ ...span });
      longest = length;
      continue;
    }
    last.end = Math.max(last.end, span.end);
    if (length <= longest) continue;
    longest = length;
    last.kind = span.kind;
    last.label = span.label;
  }
  return result;
}
