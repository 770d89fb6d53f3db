/*
 * Invisible code points: they change the direction of text, have no width, or look like a space. Taken from the Unicode
 * properties of the JavaScript engine, and a few that no property covers: the braille blank, the null notehead, the Khitan
 * filler, and the controls of interlinear annotations and hieroglyphs.
 */
const invisible = String.raw`(?![\t\n])\p{Cc}|(?![ \t\n])\p{White_Space}|\p{Default_Ignorable_Code_Point}|\p{Noncharacter_Code_Point}|\p{Cs}|[\u2800\uFFF9-\uFFFB\u{13430}-\u{1343F}\u{16FE4}\u{1D159}]`;

/** Scripts that cannot be written without the joiners U+200C and U+200D. */
const joining =
  "Arabic Syriac Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Myanmar Khmer Tibetan"
    .split(" ")
    .map((script) => `\\p{Script=${script}}`)
    .join("");

/** One joiner within a word of such a script, and what makes one picture of several. */
const needed = String.raw`(?<=[${joining}])[\u200C\u200D](?=[${joining}])|(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\uFE0F`;

const hidden = new RegExp(`(?!${needed})(?:${invisible})`, "gu");

/** What somebody has to judge, with all that is hidden in it written out, as JSON writes it. */
export function revealed(text: string): string {
  return text.replaceAll(hidden, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** Arguments as a person reads them, who may have to judge them; what is no JSON stays as it came. Of JSON, JSON is made. */
export function readableArguments(json: string): string {
  try {
    return revealed(JSON.stringify(JSON.parse(json), null, 2));
  } catch {
    return revealed(json);
  }
}
