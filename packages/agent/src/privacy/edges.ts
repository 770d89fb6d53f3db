const alphabetic = /[A-Za-z\u00C0-\u024F\u0370-\u052F]/;
/** Letters and digits of words that have edges. */
export const ofWord = /[A-Za-z0-9\u00C0-\u024F\u0370-\u052F]/;

/** Whether a word may begin or end here: Mark is not in "market", but in "MarkSmith". Chinese has no edges. */
export function isEdge(text: string, at: number): boolean {
  return isBetween(text, at, alphabetic);
}

/** Whether a part of a text is a word of its own; digits are parts of words too. */
export function isWholeWord(text: string, start: number, end: number): boolean {
  return isBetween(text, start, ofWord) && isBetween(text, end, ofWord);
}

function isBetween(text: string, at: number, letters: RegExp): boolean {
  const before = text[at - 1] ?? "";
  const after = text[at] ?? "";
  if (!letters.test(before) || !letters.test(after)) return true;
  return before === before.toLowerCase() && after !== after.toLowerCase();
}

/** How many characters of the same word stand before a place, and behind it. */
export function wordAround(before: string, after: string): { before: string; after: string } {
  let start = before.length;
  while (start > 0 && ofWord.test(before[start - 1] ?? "")) start -= 1;
  let end = 0;
  while (end < after.length && ofWord.test(after[end] ?? "")) end += 1;
  return { before: before.slice(start), after: after.slice(0, end) };
}

/** What languages put behind a name: a letter, or two of these. "Market" is no case of Mark. */
const endings =
  /^(?:[a-z\u00C0-\u024F\u0370-\u052F]|es|en|ns|em|om|in|\u043E\u0432|\u043E\u043C|\u0435\u043C|\u043E\u0439|\u043E\u044E|\u0435\u0439)$/i;

/** Whether a name of one word ends here though letters follow: "Adas", "Marke". Of short ones too much would be a case. */
export function endsInflected(text: string, start: number, end: number, name: string): boolean {
  const { after } = wordAround("", text.slice(end, end + 3));
  return end - start < 4
    ? after.toLowerCase() === "s" && text.slice(start, end) === name
    : endings.test(after);
}
