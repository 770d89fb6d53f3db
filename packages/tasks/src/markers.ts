import type { Annotation } from "./items.ts";

/** The text of a block without the `[^n]` that its annotations name. */
export function withoutAnnotated(text: string, annotations: readonly Annotation[] = []): string {
  return rewriteMarkers(text, annotations, () => undefined);
}

/**
 * With other numbers in the markers that annotations name. Where a number becomes undefined, the marker goes, and a blank
 * before it that no word follows: four would make code.
 */
export function rewriteMarkers(
  text: string,
  annotations: readonly Annotation[],
  number: (n: number) => number | undefined,
): string {
  let rewritten = "";
  let at = 0;
  for (const { reference_id: n, start_index, end_index } of annotations) {
    rewritten += text.slice(at, start_index);
    at = end_index;
    const now = number(n);
    if (now !== undefined) rewritten += `[^${now}]`;
    else if (rewritten.endsWith(" ") && !/^[\p{L}\p{N}]/u.test(text.slice(at, at + 2)))
      rewritten = rewritten.slice(0, -1);
  }
  return rewritten + text.slice(at);
}
