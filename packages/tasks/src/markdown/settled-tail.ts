/*
 * What would show its marks for a moment and then turn into something else, if each piece of a growing text were taken as
 * its end.
 */

/** So far a backtick may be from the end and still be taken for the beginning of code. */
const codeReach = 200;

const link = /(?<![\w\])\\])!?\[([^[\]\n]{0,300})(?:\](?:\([^()\s]*)?)?$/;
const marks = /(?:(?<![*_~])[*_~]+|\\)$/;

/** A paragraph with its end as it will probably be. */
export function settledTail(text: string): string {
  const tick = openTick(text);
  if (tick !== undefined) return text.endsWith(tick) ? text.slice(0, -tick.length) : text + tick;
  return text.replace(begunTag, "").replace(link, "$1").replace(marks, "");
}

/** A tag, a comment or a footnote that has only begun. */
const begunTag = /(?:<(?:!-?|\/?(?:s(?:u[bp]?)?|k(?:bd?)?)?)|\[\^[^\s[\]^]{0,60})$/i;

/** The last run of backticks, if it opens code in this line. */
function openTick(text: string): string | undefined {
  const line = text.slice(Math.max(text.lastIndexOf("\n") + 1, text.length - codeReach));
  let open: string | undefined;
  for (const [run] of line.matchAll(/`+/g)) {
    if (open === undefined) open = run;
    else if (open === run) open = undefined;
  }
  return open;
}

/** Lines that cannot be shown before more of them has come: they may yet begin something. */
const beginnings =
  /^(?:[ \t]*>)*[ \t]*(?:[-*+] +|\d{1,9}[.)] +)?(?:#{1,6}|[-=*_+]+[ \t]*|>|\d{1,9}[.)]?[ \t]*|`{1,2}|`{3,}[^`]*|~+|~{3,}.*|\[[ xX]?\]?|\|[-|: \t]*|:[-|: \t]*|\$+|\\\[?|)[ \t]*$/;

/** Whether the last line of a growing text, which has not ended, is to wait. */
export function isUndecided(line: string, leaf: string): boolean {
  if (leaf === "math") return /^[ \t]*(?:\$|\\)$/.test(line);
  // A table goes on with a row, mostly.
  if (leaf === "table" && !line.includes("|") && line.length < 40) return true;
  if (leaf === "comment") return false;
  if (leaf !== "code" && line.length < longestHeld && begunHtml.test(line)) return true;
  if (leaf === "code") return /^[ \t]*(?:`{1,2}|~{1,2})$/.test(line);
  if (leaf === "address" || leaf === "title") return line.length < longestHeld;
  if (leaf === "untitled" && /^[ \t>]*["'(]/.test(line)) return true;
  return beginnings.test(line) || (leaf !== "paragraph" && mayDefine(line));
}

const begunHtml =
  /^(?:[ \t]*>)*[ \t]*<(?:!-?|\/?[a-z]{0,7}|details[ \t]+[a-z]{0,4}|(?:details[^<>]*>[ \t]*)?<?summary[ \t]*(?:>(?:(?!<\/summary[ \t]*>)[^])*)?)$/i;

const begunDefinition =
  /^(?:[ \t]*>)*[ \t]*\[(?!\^)[^[\]]{1,60}(?:\]|\]:[ \t]*<?(\S*)(?:[ \t]+(?:["'(].*)?)?)?$/;

/** A definition is not shown once it is whole. */
function mayDefine(line: string): boolean {
  const found = begunDefinition.exec(line);
  if (found === null) return false;
  const address = found[1]?.toLowerCase() ?? "";
  return linked.some((start) => start.startsWith(address) || address.startsWith(start));
}

/** What is longer is shown: it may be no definition after all. */
const longestHeld = 200;

const linked = ["http://", "https://", "mailto:", "/api/blobs/"];
