import type { TomlError } from "smol-toml";

/**
 * Returns what is most likely wrong with a file that is not TOML, with line and column, and what to write instead. Values are
 * never repeated: one of them may be a key.
 */
export function tomlMistake(text: string, error: TomlError): string {
  return `${error.line}:${error.column}: ${likelyMistake(text, error)}`;
}

function likelyMistake(text: string, fault: TomlError): string {
  const lines = text.split(/\r?\n/);
  const line = lines[fault.line - 1] ?? "";
  // The rest of the message shows the line.
  const [reason = ""] = fault.message.replace(/^Invalid TOML document: /, "").split("\n", 1);
  const context: Context = {
    line: fault.line,
    reason,
    lines,
    bare: line.trim(),
    code: withoutStrings(line).trim(),
    rest: line.slice(fault.column - 1),
    isFirst: lines.slice(0, fault.line - 1).every((one) => one.trim() === ""),
  };
  for (const rule of rules) {
    const found = rule(context);
    if (found !== undefined) return found;
  }
  return `${reason}; see https://toml.io for how it is written`;
}

interface Context {
  /** Where the parser stopped, counted from 1, and what it said. */
  readonly line: number;
  readonly reason: string;
  readonly lines: readonly string[];
  /** The line. */
  readonly bare: string;
  /** The line without what stands in quotes and behind #. */
  readonly code: string;
  /** The line from where the parser stopped. */
  readonly rest: string;
  readonly isFirst: boolean;
}

type Rule = (context: Context) => string | undefined;

/** The first that applies is told. */
const rules: readonly Rule[] = [
  ({ lines }) =>
    /[\0\uFFFD]/.test(lines.slice(0, 2).join("\n"))
      ? "the file is not UTF-8 text; save it with the encoding UTF-8"
      : undefined,
  ({ bare }) =>
    /^[^"'#]*[“”„‟‘’‚«»]/.test(bare)
      ? 'has typographic quotes; write straight ones, "like these"'
      : undefined,
  ({ bare, isFirst }) =>
    isFirst && bare.startsWith("{")
      ? "the file looks like JSON; it has to be TOML, with [server] above and port = 4141 below"
      : undefined,
  ({ rest, bare }) => {
    const invisible = /^[\u00A0\u2000-\u200F\u2028-\u202F\u205F-\u2064\u3000\uFEFF]/.exec(
      rest,
    )?.[0];
    const code = (invisible ?? /^[\u00A0\u200B\u3000]/.exec(bare)?.[0])?.codePointAt(0);
    return code === undefined
      ? undefined
      : `has an invisible character (U+${code.toString(16).toUpperCase().padStart(4, "0")}); remove it`;
  },
  ({ code }) => {
    if (!/^\[[^\]=]*$/.test(code)) return undefined;
    return code.startsWith("[[")
      ? "the brackets are not closed; write [[NAME]]"
      : "the bracket is not closed; write [NAME]";
  },
  ({ code }) =>
    /^\[[^\]]*\]+\s*[^\s#\]]/.test(code)
      ? "something stands behind the table's name; begin a new line after the ]"
      : undefined,
  ({ reason, bare, line, lines }) =>
    /redefine/.test(reason) ? definedTwice(bare, line, lines) : undefined,
  ({ code }) => (/^[\w.-]*\s*:(?:\s|$)/.test(code) ? "has a colon; write NAME = VALUE" : undefined),
  ({ reason }) =>
    /escape/.test(reason)
      ? "a backslash in double quotes begins an escape; put a path in 'single quotes', or write \\\\ or /"
      : undefined,
  ({ reason, lines, line, rest }) =>
    /unfinished array|expected comma/.test(reason)
      ? unclosedOrNoComma(lines, line, rest)
      : undefined,
  ({ reason }) => (/unfinished table/.test(reason) ? "the table is not closed; add }" : undefined),
  ({ reason, rest, bare }) =>
    /unfinished string|control characters/.test(reason)
      ? `the text is not closed; add ${/"""|'''/.exec(bare)?.[0] ?? (rest.startsWith("'") || /=\s*'/.test(bare) ? "'" : '"')} behind it`
      : undefined,
  ({ code }) =>
    /(?:^|\s)(?:\/\/|;|--)/.test(code) && !/^[^=]*=\s*[^\s"']*:\/\//.test(code)
      ? "a comment begins with #"
      : undefined,
  ({ code }) =>
    /^[^=]+=[^[{]*,\s*$/.test(code) ? "has a comma at its end; take it out" : undefined,
  ({ reason }) => (/leading zero/.test(reason) ? "a number has no zero before it" : undefined),
  ({ bare }) => (/^[^=]+=\s*(?:#.*)?$/.test(bare) ? "the value is missing behind =" : undefined),
  ({ bare }) => {
    const word = /^[^=]+=\s*(true|false|yes|no|on|off)\s*(?:#.*)?$/i.exec(bare)?.[1];
    return word === undefined
      ? undefined
      : "write true or false, in small letters and without quotes";
  },
  ({ reason, bare }) =>
    /invalid value|numeric literal|date/.test(reason)
      ? `the value is no number and not in quotes; put a text in ${bare.includes("\\") ? "'single quotes'" : '"quotes"'}`
      : undefined,
  ({ reason }) =>
    /followed by an end-of-line/.test(reason)
      ? "something stands behind the value; begin a new line, or put the whole value in quotes"
      : undefined,
  ({ bare }) =>
    bare.startsWith("=") ? "the name is missing before =; write NAME = VALUE" : undefined,
  ({ code }) =>
    code.includes("=") || code.startsWith("[") ? undefined : "has no =; write NAME = VALUE",
  ({ reason }) =>
    /key/.test(reason)
      ? 'a name with anything but letters, digits, - and _ stands in quotes, as in "my name" = VALUE'
      : undefined,
];

/** Texts in quotes become "", and comments are cut. */
function withoutStrings(line: string): string {
  return line.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '""').replace(/#.*$/, "");
}

function definedTwice(bare: string, line: number, lines: readonly string[]): string {
  const header = tableIn(bare);
  if (header !== undefined) {
    const first = lines.findIndex((one) => tableIn(one) === header) + 1;
    return first > 0 && first < line
      ? `[${header}] is there twice, first in line ${first}; put the settings of both under one`
      : `[${header}] is a value already; keep one of the two`;
  }
  const name = nameIn(bare);
  if (name === undefined) return "this name is set twice; keep one of the two";
  for (let at = line - 2; at >= 0; at -= 1) {
    const one = lines[at] ?? "";
    if (nameIn(one) === name)
      return `${name} is set twice, first in line ${at + 1}; keep one of the two`;
    if (tableIn(one) !== undefined) break;
  }
  return `${name} is set twice; keep one of the two`;
}

function tableIn(line: string): string | undefined {
  return /^\s*\[\[?\s*([^\]]*?)\s*\]/.exec(line)?.[1];
}

function nameIn(line: string): string | undefined {
  return /^\s*([^=#[\]]+?)\s*=/.exec(line)?.[1];
}

/** A list that goes on where the next setting begins, or the file ends, was not closed. */
function unclosedOrNoComma(lines: readonly string[], line: number, rest: string): string {
  const isOver =
    rest.trim() === "" ||
    (/^\s*(?:\[|[\w."-]+\s*=)/.test(rest) && isAtStart(lines[line - 1] ?? "", rest));
  if (!isOver) return "a comma is missing between two values";
  const open = lines.slice(0, line).findLastIndex((one) => /=\s*[[{]/.test(withoutStrings(one)));
  const sign = /=\s*\{/.test(lines[open] ?? "") ? "}" : "]";
  return open === -1
    ? `the list is not closed; add ${sign}`
    : `the ${sign === "]" ? "list" : "table"} that begins in line ${open + 1} is not closed; add ${sign}`;
}

function isAtStart(line: string, rest: string): boolean {
  return line.trim() === rest.trim();
}
