/** A private part of a string: from `start` up to, but not including, `end`, in UTF-16 units. */
export interface PrivateSpan {
  start: number;
  end: number;
  kind: string;
  label: string;
}

/**
 * Returns the spans sorted by position. Overlapping spans are merged, so that no part of them remains visible; the merged
 * span has the kind and label of the longest.
 */
export function mergeSpans(spans: PrivateSpan[]): PrivateSpan[] {
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const result: PrivateSpan[] = [];
  let longestLength = 0;
  for (const span of sorted) {
    const lastSpan = result.at(-1);
    const length = span.end - span.start;
    if (lastSpan === undefined || span.start >= lastSpan.end) {
      result.push({ ...span });
      longestLength = length;
      continue;
    }
    lastSpan.end = Math.max(lastSpan.end, span.end);
    if (length <= longestLength) continue;
    longestLength = length;
    lastSpan.kind = span.kind;
    lastSpan.label = span.label;
  }
  return result;
}
