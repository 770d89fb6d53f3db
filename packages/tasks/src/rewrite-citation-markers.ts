import type { Annotation } from "./items.ts";

/** Returns the text of a block without the `[^n]` markers of its annotations. */
export function removeAnnotatedMarkers(
  text: string,
  annotations: readonly Annotation[] = [],
): string {
  return rewriteMarkers(text, annotations, () => undefined);
}

/**
 * Renumbers the markers of the annotations. A marker whose new number is undefined is removed, together with a space before it
 * if no word follows: four spaces in a row could become a code block.
 */
export function rewriteMarkers(
  text: string,
  annotations: readonly Annotation[],
  mapNumber: (n: number) => number | undefined,
): string {
  let result = "";
  let position = 0;
  for (const { reference_id: n, start_index, end_index } of annotations) {
    result += text.slice(position, start_index);
    position = end_index;
    const newNumber = mapNumber(n);
    if (newNumber !== undefined) result += `[^${newNumber}]`;
    else if (result.endsWith(" ") && !/^[\p{L}\p{N}]/u.test(text.slice(position, position + 2)))
      result = result.slice(0, -1);
  }
  return result + text.slice(position);
}
