import type { ContentPart } from "./items.ts";
import type { ToolPart } from "./tool-output.ts";

/** On the parts that stand around a group, and on nothing else. */
export const wrapperTag = "added_by_reference_manager";

/** A group as the model sees it. */
export function wrap(n: number, parts: readonly ContentPart[]): ContentPart[] {
  return [
    { type: "text", text: `<referencable-item>\nID: ${n}`, id: n, tags: [wrapperTag] },
    ...parts.map((part) => ({ ...part, id: n })),
    { type: "text", text: "</referencable-item>", id: n, tags: [wrapperTag] },
  ];
}

/** The wrapper in a text that the model was sent. No tool can have written it: `defused` has changed what looks like it. */
export const wrapperText = /<referencable-item>\nID: (?<number>\d+)\n?|\n?<\/referencable-item>/g;

/**
 * Parts in which nothing looks like the wrapper, so that what a tool has read cannot leave its group or forge another:
 * `</referencable-item>` is told as `&lt;/referencable-item>`. Texts that follow on each other are one text for the
 * model, so that a tag must not be made of two of them either.
 */
export function defused<Part extends ToolPart | ContentPart>(parts: readonly Part[]): Part[] {
  return parts.map((part, at) =>
    part.type === "text"
      ? { ...part, text: defusedText(part.text, parts[at + 1]?.type === "text") }
      : part,
  );
}

export function defusedText(text: string, goesOn = false): string {
  let safe = "";
  let from = 0;
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
    const found = tagAt(text, at);
    if (found === "no" || (found === "perhaps" && !goesOn)) continue;
    safe += `${text.slice(from, at)}&lt;`;
    from = at + 1;
  }
  return from === 0 ? text : safe + text.slice(from);
}

const name = "referencable-item";

/**
 * In any case, and with blanks and invisible characters anywhere. By hand: a pattern with so many optional places takes
 * quadratic time on a long run of blanks.
 */
function tagAt(text: string, start: number): "whole" | "perhaps" | "no" {
  let matched = 0;
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (gap.test(char) || (char === "/" && matched === 0)) continue;
    let expected = name.charAt(matched);
    if (expected === "-" && !hyphen.test(char)) {
      // left out
      matched += 1;
      expected = name.charAt(matched);
    }
    if (char.toLowerCase() !== expected && !(expected === "-" && hyphen.test(char))) return "no";
    matched += 1;
    if (matched === name.length) return "whole";
  }
  return "perhaps";
}

const gap = /[\s\p{Default_Ignorable_Code_Point}]/u;
const hyphen = /[\p{Dash}_]/u;
