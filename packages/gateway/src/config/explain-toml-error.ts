import type { TomlError } from "smol-toml";

/**
 * Returns the line and column of a syntax error, its likely cause and what to write instead. Never quotes values: one of
 * them may be a key.
 */
export function explainTomlError(text: string, error: TomlError): string {
  return `${error.line}:${error.column}: ${findLikelyCause(text, error)}`;
}

function findLikelyCause(text: string, tomlError: TomlError): string {
  const lines = text.split(/\r?\n/);
  const line = lines[tomlError.line - 1] ?? "";
  // The rest of the message quotes the line.
  const [reason = ""] = tomlError.message.replace(/^Invalid TOML document: /, "").split("\n", 1);
  const context: TomlErrorContext = {
    line: tomlError.line,
    reason,
    lines,
    trimmedLine: line.trim(),
    code: withoutStrings(line).trim(),
    restOfLine: line.slice(tomlError.column - 1),
    isFirstLine: lines.slice(0, tomlError.line - 1).every((candidate) => candidate.trim() === ""),
  };
  for (const rule of rules) {
    const explanation = rule(context);
    if (explanation !== undefined) return explanation;
  }
  return `${reason}; see https://toml.io for the syntax`;
}

interface TomlErrorContext {
  /** The number of the line where the parser stopped, from 1. */
  readonly line: number;
  /** The parser's message. */
  readonly reason: string;
  readonly lines: readonly string[];
  /** The line without surrounding whitespace. */
  readonly trimmedLine: string;
  /** The line with its strings emptied and its comment removed. */
  readonly code: string;
  /** The line from the position where the parser stopped. */
  readonly restOfLine: string;
  readonly isFirstLine: boolean;
}

type ExplanationRule = (context: TomlErrorContext) => string | undefined;

/** The first rule that applies explains the error. */
const rules: readonly ExplanationRule[] = [
  ({ lines }) =>
    /[\0\uFFFD]/.test(lines.slice(0, 2).join("\n"))
      ? "the file is not UTF-8; save it in UTF-8 encoding"
      : undefined,
  ({ trimmedLine }) =>
    /^[^"'#]*[“”„‟‘’‚«»]/.test(trimmedLine)
      ? 'replace the typographic quotes with straight ones, "like these"'
      : undefined,
  ({ trimmedLine, isFirstLine }) =>
    isFirstLine && trimmedLine.startsWith("{")
      ? "the file looks like JSON but must be TOML, such as [server] followed by port = 4141"
      : undefined,
  ({ restOfLine, trimmedLine }) => {
    const invisible = /^[\u00A0\u2000-\u200F\u2028-\u202F\u205F-\u2064\u3000\uFEFF]/.exec(
      restOfLine,
    )?.[0];
    const code = (invisible ?? /^[\u00A0\u200B\u3000]/.exec(trimmedLine)?.[0])?.codePointAt(0);
    return code === undefined
      ? undefined
      : `remove the invisible character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  },
  ({ code }) => {
    if (!/^\[[^\]=]*$/.test(code)) return undefined;
    return code.startsWith("[[")
      ? "the brackets are not closed; write [[NAME]]"
      : "the bracket is not closed; write [NAME]";
  },
  ({ code }) =>
    /^\[[^\]]*\]+\s*[^\s#\]]/.test(code)
      ? "unexpected text after the table name; start a new line after the ]"
      : undefined,
  ({ reason, trimmedLine, line, lines }) =>
    /redefine/.test(reason) ? explainDuplicate(trimmedLine, line, lines) : undefined,
  ({ code }) =>
    /^[\w.-]*\s*:(?:\s|$)/.test(code) ? "use = instead of a colon: NAME = VALUE" : undefined,
  ({ reason }) =>
    /escape/.test(reason)
      ? "a backslash in double quotes starts an escape sequence; put a path in 'single quotes', or write \\\\ or /"
      : undefined,
  ({ reason, lines, line, restOfLine }) =>
    /unfinished array|expected comma/.test(reason)
      ? explainArrayError(lines, line, restOfLine)
      : undefined,
  ({ reason }) => (/unfinished table/.test(reason) ? "the table is not closed; add }" : undefined),
  ({ reason, restOfLine, trimmedLine }) =>
    /unfinished string|control characters/.test(reason)
      ? `the string is not closed; add ${/"""|'''/.exec(trimmedLine)?.[0] ?? (restOfLine.startsWith("'") || /=\s*'/.test(trimmedLine) ? "'" : '"')} at its end`
      : undefined,
  ({ code }) =>
    /(?:^|\s)(?:\/\/|;|--)/.test(code) && !/^[^=]*=\s*[^\s"']*:\/\//.test(code)
      ? "comments start with #"
      : undefined,
  ({ code }) =>
    /^[^=]+=[^[{]*,\s*$/.test(code) ? "remove the comma at the end of the line" : undefined,
  ({ reason }) =>
    /leading zero/.test(reason) ? "remove the leading zero of the number" : undefined,
  ({ trimmedLine }) =>
    /^[^=]+=\s*(?:#.*)?$/.test(trimmedLine) ? "missing value after =" : undefined,
  ({ trimmedLine }) => {
    const word = /^[^=]+=\s*(true|false|yes|no|on|off)\s*(?:#.*)?$/i.exec(trimmedLine)?.[1];
    return word === undefined ? undefined : "write true or false, in lower case and without quotes";
  },
  ({ reason, trimmedLine }) =>
    /invalid value|numeric literal|date/.test(reason)
      ? `invalid value; a string must be in ${trimmedLine.includes("\\") ? "'single quotes'" : '"quotes"'}`
      : undefined,
  ({ reason }) =>
    /followed by an end-of-line/.test(reason)
      ? "unexpected text after the value; start a new line, or put the complete value in quotes"
      : undefined,
  ({ trimmedLine }) =>
    trimmedLine.startsWith("=") ? "missing name before =; write NAME = VALUE" : undefined,
  ({ code }) =>
    code.includes("=") || code.startsWith("[") ? undefined : "missing =; write NAME = VALUE",
  ({ reason }) =>
    /key/.test(reason)
      ? 'a name with characters other than letters, digits, - and _ must be in quotes, as in "my name" = VALUE'
      : undefined,
];

/** Empties strings and removes comments. */
function withoutStrings(line: string): string {
  return line.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '""').replace(/#.*$/, "");
}

function explainDuplicate(trimmedLine: string, line: number, lines: readonly string[]): string {
  const header = parseTableName(trimmedLine);
  if (header !== undefined) {
    const first = lines.findIndex((candidate) => parseTableName(candidate) === header) + 1;
    return first > 0 && first < line
      ? `[${header}] is defined twice, first on line ${first}; merge the two tables`
      : `[${header}] is already defined as a value; remove one of them`;
  }
  const name = parseKeyName(trimmedLine);
  if (name === undefined) return "this name is set twice; remove one of them";
  for (let index = line - 2; index >= 0; index -= 1) {
    const candidate = lines[index] ?? "";
    if (parseKeyName(candidate) === name)
      return `${name} is set twice, first on line ${index + 1}; remove one of them`;
    if (parseTableName(candidate) !== undefined) break;
  }
  return `${name} is set twice; remove one of them`;
}

function parseTableName(line: string): string | undefined {
  return /^\s*\[\[?\s*([^\]]*?)\s*\]/.exec(line)?.[1];
}

function parseKeyName(line: string): string | undefined {
  return /^\s*([^=#[\]]+?)\s*=/.exec(line)?.[1];
}

/** An array that continues up to the next setting or the end of the file has not been closed. */
function explainArrayError(lines: readonly string[], line: number, restOfLine: string): string {
  const isUnclosed =
    restOfLine.trim() === "" ||
    (/^\s*(?:\[|[\w."-]+\s*=)/.test(restOfLine) &&
      restOfLine.trim() === (lines[line - 1] ?? "").trim());
  if (!isUnclosed) return "missing comma between two values";
  const openingIndex = lines
    .slice(0, line)
    .findLastIndex((candidate) => /=\s*[[{]/.test(withoutStrings(candidate)));
  const bracket = /=\s*\{/.test(lines[openingIndex] ?? "") ? "}" : "]";
  return openingIndex === -1
    ? `the list is not closed; add ${bracket}`
    : `the ${bracket === "]" ? "list" : "table"} that starts on line ${openingIndex + 1} is not closed; add ${bracket}`;
}
