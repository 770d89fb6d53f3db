/**
 * Characters that are not seen and change what is: they turn the direction of what follows, hide, or take no room. Those
 * that join letters are left alone, as Persian and many others are not written without them.
 */
const hidden =
  /(?![\t\n])\p{Cc}|[\u{AD}\u{61C}\u{180E}\u{200B}\u{200E}\u{200F}\u{2028}-\u{202E}\u{2060}-\u{206F}\u{FEFF}\u{FFF9}-\u{FFFB}\u{E0000}-\u{E007F}]/gu;

/** What somebody has to judge, with all that is hidden in it written out, as JSON writes it. */
export function revealed(text: string): string {
  return text.replaceAll(hidden, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
