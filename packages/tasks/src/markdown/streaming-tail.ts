/*
 * Prevents flicker at the end of streaming text: syntax that has only started would be shown as text for a moment.
 */

/** How far from the end an opening backtick is searched for, in characters. */
const maxCodeLookback = 200;

const partialLinkPattern = /(?<![\w\])\\])!?\[([^[\]\n]{0,300})(?:\](?:\([^()\s]*)?)?$/;
const trailingMarks = /(?:(?<![*_~])[*_~]+|\\)$/;

/** Returns a paragraph with its unfinished syntax completed or removed. */
export function completeTail(text: string): string {
  const backticks = findOpenBackticks(text);
  if (backticks !== undefined)
    return text.endsWith(backticks) ? text.slice(0, -backticks.length) : text + backticks;
  return text
    .replace(partialTagPattern, "")
    .replace(partialLinkPattern, "$1")
    .replace(trailingMarks, "");
}

/** Matches an unfinished tag, comment or footnote. */
const partialTagPattern = /(?:<(?:!-?|\/?(?:s(?:u[bp]?)?|k(?:bd?)?)?)|\[\^[^\s[\]^]{0,60})$/i;

/** Returns the last run of backticks if it opens code in the last line. */
function findOpenBackticks(text: string): string | undefined {
  const line = text.slice(Math.max(text.lastIndexOf("\n") + 1, text.length - maxCodeLookback));
  let openRun: string | undefined;
  for (const [run] of line.matchAll(/`+/g)) {
    if (openRun === undefined) openRun = run;
    else if (openRun === run) openRun = undefined;
  }
  return openRun;
}

/** Matches unfinished lines that may become block syntax and are not shown yet. */
const undecidedStarts =
  /^(?:[ \t]*>)*[ \t]*(?:[-*+] +|\d{1,9}[.)] +)?(?:#{1,6}|[-=*_+]+[ \t]*|>|\d{1,9}[.)]?[ \t]*|`{1,2}|`{3,}[^`]*|~+|~{3,}.*|\[[ xX]?\]?|\|[-|: \t]*|:[-|: \t]*|\$+|\\\[?|)[ \t]*$/;

/** True if the unfinished last line of streaming text should not be shown yet. */
export function isUndecided(line: string, leaf: string): boolean {
  if (leaf === "math") return /^[ \t]*(?:\$|\\)$/.test(line);
  // A table is usually followed by another row.
  if (leaf === "table" && !line.includes("|") && line.length < 40) return true;
  if (leaf === "comment") return false;
  if (leaf !== "code" && line.length < maxHeldLength && partialHtmlPattern.test(line)) return true;
  if (leaf === "code") return /^[ \t]*(?:`{1,2}|~{1,2})$/.test(line);
  if (leaf === "destination" || leaf === "title") return line.length < maxHeldLength;
  if (leaf === "untitled" && /^[ \t>]*["'(]/.test(line)) return true;
  return undecidedStarts.test(line) || (leaf !== "paragraph" && mayBeDefinition(line));
}

const partialHtmlPattern =
  /^(?:[ \t]*>)*[ \t]*<(?:!-?|\/?[a-z]{0,7}|details[ \t]+[a-z]{0,4}|(?:details[^<>]*>[ \t]*)?<?summary[ \t]*(?:>(?:(?!<\/summary[ \t]*>)[^])*)?)$/i;

const partialDefinitionPattern =
  /^(?:[ \t]*>)*[ \t]*\[(?!\^)[^[\]]{1,60}(?:\]|\]:[ \t]*<?(\S*)(?:[ \t]+(?:["'(].*)?)?)?$/;

/** True if the line may be the start of a link definition. Complete definitions are not shown, so their start is hidden too. */
function mayBeDefinition(line: string): boolean {
  const match = partialDefinitionPattern.exec(line);
  if (match === null) return false;
  const destination = match[1]?.toLowerCase() ?? "";
  return linkSchemes.some(
    (scheme) => scheme.startsWith(destination) || destination.startsWith(scheme),
  );
}

/** Longer lines are shown: they are most likely text. In characters. */
const maxHeldLength = 200;

const linkSchemes = ["http://", "https://", "mailto:", "/api/blobs/"];
