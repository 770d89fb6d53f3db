import type { ContentPart } from "./items.ts";
import type { ToolPart } from "./tool-output.ts";

/** Tag of the parts before and after a group. No other part has it. */
export const wrapperTag = "added_by_reference_manager";

/** Wraps a group for the model. */
export function wrapReference(n: number, parts: readonly ContentPart[]): ContentPart[] {
  return [
    { type: "text", text: `<referencable-item>\nID: ${n}`, id: n, tags: [wrapperTag] },
    ...parts.map((part) => ({ ...part, id: n })),
    { type: "text", text: "</referencable-item>", id: n, tags: [wrapperTag] },
  ];
}

/** Matches the wrapper in text that was sent to a model. Tools cannot forge it, because their output is escaped. */
export const wrapperPattern =
  /<referencable-item>\nID: (?<number>\d+)\n?|\n?<\/referencable-item>/g;

/**
 * Escapes everything that looks like a wrapper tag, so that the content of a tool result cannot leave its group or forge another
 * one: `</referencable-item>` becomes `&lt;/referencable-item>`. Adjacent text parts are one text for the model, so a tag that
 * is split between two parts is escaped too.
 */
export function escapeWrapperTags<Part extends ToolPart | ContentPart>(
  parts: readonly Part[],
): Part[] {
  return parts.map((part, index) =>
    part.type === "text"
      ? { ...part, text: escapeWrapperTagsInText(part.text, parts[index + 1]?.type === "text") }
      : part,
  );
}

export function escapeWrapperTagsInText(text: string, isContinued = false): string {
  let escapedText = "";
  let from = 0;
  for (
    let position = text.indexOf("<");
    position !== -1;
    position = text.indexOf("<", position + 1)
  ) {
    const match = matchWrapperTag(text, position);
    if (match === "none" || (match === "partial" && !isContinued)) continue;
    escapedText += `${text.slice(from, position)}&lt;`;
    from = position + 1;
  }
  return from === 0 ? text : escapedText + text.slice(from);
}

const wrapperTagName = "referencable-item";

/**
 * Ignores case, whitespace and invisible characters, and accepts a missing hyphen. Not a regular expression: with so many
 * optional characters it would take quadratic time on a long run of spaces.
 */
function matchWrapperTag(text: string, start: number): "full" | "partial" | "none" {
  let matchedLength = 0;
  for (let position = start + 1; position < text.length; position += 1) {
    const char = text.charAt(position);
    if (ignorablePattern.test(char) || (char === "/" && matchedLength === 0)) continue;
    let expected = wrapperTagName.charAt(matchedLength);
    if (expected === "-" && !hyphenPattern.test(char)) {
      // the hyphen is missing
      matchedLength += 1;
      expected = wrapperTagName.charAt(matchedLength);
    }
    if (char.toLowerCase() !== expected && !(expected === "-" && hyphenPattern.test(char)))
      return "none";
    matchedLength += 1;
    if (matchedLength === wrapperTagName.length) return "full";
  }
  return "partial";
}

const ignorablePattern = /[\s\p{Default_Ignorable_Code_Point}]/u;
const hyphenPattern = /[\p{Dash}_]/u;
