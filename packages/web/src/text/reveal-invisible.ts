/*
 * Matches code points that change the direction of text, have no width, or look like a space. Most are found by Unicode
 * property. No property covers the braille blank, the null notehead, the Khitan filler, and the controls of interlinear
 * annotations and hieroglyphs.
 */
const invisibleSource = String.raw`(?![\t\n])\p{Cc}|(?![ \t\n])\p{White_Space}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|\p{Cs}|[\u2800\uFFF9-\uFFFB\u{13430}-\u{1343F}\u{16FE4}\u{1D159}]`;

/** Scripts that cannot be written without the joiners U+200C and U+200D. */
const joiningScriptClasses =
  "Arabic Syriac Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Myanmar Khmer Tibetan"
    .split(" ")
    .map((script) => `\\p{Script=${script}}`)
    .join("");

/** Matches a single joiner within a word of these scripts, and joiners of emoji sequences, which are not escaped. */
const neededJoinerSource = String.raw`(?<=[${joiningScriptClasses}])[\u200C\u200D](?=[${joiningScriptClasses}])|(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\uFE0F`;

const invisiblePattern = new RegExp(`(?!${neededJoinerSource})(?:${invisibleSource})`, "gu");

/** Escapes invisible characters as in JSON (`\u200b`), so that nothing is hidden from a user who has to approve the text. */
export function revealInvisible(text: string): string {
  return text.replaceAll(invisiblePattern, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** Indents JSON arguments and escapes invisible characters. The result is still valid JSON. Text that is not JSON is not indented. */
export function formatArguments(json: string): string {
  try {
    return revealInvisible(JSON.stringify(JSON.parse(json), null, 2));
  } catch {
    return revealInvisible(json);
  }
}
