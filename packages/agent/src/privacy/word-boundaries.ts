const letterPattern = /[A-Za-z\u00C0-\u024F\u0370-\u052F]/;
/** Letters and digits of scripts that separate words with spaces. */
export const wordCharacter = /[A-Za-z0-9\u00C0-\u024F\u0370-\u052F]/;

/** True if a word may start or end at `index`: after "Mark" in "MarkSmith", but not in "market". Always true in Chinese text. */
export function isWordBoundary(text: string, index: number): boolean {
  return isBoundary(text, index, letterPattern);
}

/** True if part of the text is a complete word. Digits are parts of words. */
export function isWholeWord(text: string, start: number, end: number): boolean {
  return isBoundary(text, start, wordCharacter) && isBoundary(text, end, wordCharacter);
}

function isBoundary(text: string, index: number, lettersPattern: RegExp): boolean {
  const characterBefore = text[index - 1] ?? "";
  const characterAfter = text[index] ?? "";
  if (!lettersPattern.test(characterBefore) || !lettersPattern.test(characterAfter)) return true;
  return (
    characterBefore === characterBefore.toLowerCase() &&
    characterAfter !== characterAfter.toLowerCase()
  );
}

/** Returns the characters before and after a position that belong to the same word. */
export function findWordAround(before: string, after: string): { before: string; after: string } {
  let start = before.length;
  while (start > 0 && wordCharacter.test(before[start - 1] ?? "")) start -= 1;
  let end = 0;
  while (end < after.length && wordCharacter.test(after[end] ?? "")) end += 1;
  return { before: before.slice(start), after: after.slice(0, end) };
}

/** Inflected endings of names: any letter, or one of these pairs. "Market" is not a form of "Mark". */
const inflectionEndings =
  /^(?:[a-z\u00C0-\u024F\u0370-\u052F]|es|en|ns|em|om|in|\u043E\u0432|\u043E\u043C|\u0435\u043C|\u043E\u0439|\u043E\u044E|\u0435\u0439)$/i;

/** True if a name ends here with an inflected ending: "Adas", "Marke". Names under four letters only take a possessive "s". */
export function hasInflectedEnding(
  text: string,
  start: number,
  end: number,
  name: string,
): boolean {
  const { after } = findWordAround("", text.slice(end, end + 3));
  return end - start < 4
    ? after.toLowerCase() === "s" && text.slice(start, end) === name
    : inflectionEndings.test(after);
}
