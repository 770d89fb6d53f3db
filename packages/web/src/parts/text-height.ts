export const lineHeight = 24;
export const lettersInLine = 90;

/** How many lines a text may take that was never drawn. */
export function guessedLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return Math.max(lines, Math.ceil(text.length / lettersInLine));
}
