import { isDeepStrictEqual } from "node:util";
import { parse, type TomlTable } from "smol-toml";
import {
  KeyLineIndex,
  scanTomlPositions,
  type KeyPath,
  type TextSpan,
  type TomlEntry,
  type TomlPositions,
} from "../config/toml-positions.ts";
import { MigrationError } from "./migration-error.ts";
import { formatTomlKey, formatTomlString } from "./format-toml.ts";

type Path = readonly string[];
interface Edit extends TextSpan {
  readonly text: string;
}

/**
 * Edits a TOML document and preserves everything else: comments, order, quotes, line endings. Each edit is also
 * applied to a parsed copy, and `finish` checks that the edited text parses to the same result.
 */
export class TomlEditor {
  readonly #text: string;
  readonly #file: string;
  readonly #positions: TomlPositions;
  readonly #expected: TomlTable;
  readonly #edits: Edit[] = [];
  readonly #removals: Edit[] = [];
  readonly #removedInlineEntries = new Set<TomlEntry>();
  readonly #renames: { path: Path; name: string }[] = [];

  /** `text` must be valid TOML. */
  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#positions = scanTomlPositions(text);
    this.#expected = parse(text, { integersAsBigInt: "asNeeded" });
  }

  /** Replaces the value of an existing setting with a string. */
  set(path: Path, value: string): void {
    const { start, end } = this.#getEntry(path).value;
    this.#edits.push({ start, end, text: formatTomlString(value, this.#text.slice(start, end)) });
    this.#getParentTable(path)[getLastKey(path)] = value;
  }

  /** Inserts a string setting directly after `sibling`, in the same table. */
  add(sibling: Path, key: string, value: string): void {
    const entry = this.#getEntry(sibling);
    const lastPart = entry.parts.at(-1);
    const separator = this.#text.slice(lastPart?.end, entry.value.start);
    const table = entry.parts.slice(0, -1).map((part) => `${this.#formatPart(entry, part)}.`);
    const equals = separator === "=" ? "=" : " = ";
    const keyValue = `${table.join("")}${formatTomlKey(key)}${equals}${formatTomlString(value)}`;
    if (entry.location.kind === "inline_table") this.#insert(entry.value.end, `, ${keyValue}`);
    else this.#insertLine(entry.location.lines, keyValue);
    this.#getParentTable(sibling)[key] = value;
  }

  /** Removes a setting, or a table with all its settings and subtables. Comments are preserved. */
  remove(path: Path): void {
    for (const header of this.#positions.headers)
      if (startsWith(header.path, path)) this.#removeLines(this.#withBlankLinesBefore(header.line));
    for (const entry of this.#positions.entries) {
      if (!startsWith(entry.path, path)) continue;
      if (entry.location.kind === "lines") this.#removeLines(entry.location.lines);
      else if (entry.location.table.path.length < path.length)
        this.#removedInlineEntries.add(entry);
    }
    delete this.#getParentTable(path)[getLastKey(path)];
  }

  /** Renames the last part of the path, everywhere in the document. */
  rename(path: Path, name: string): void {
    this.#renames.push({ path, name });
    for (const occurrence of [...this.#positions.headers, ...this.#positions.entries]) {
      const part = occurrence.parts.find(({ index }) => index === path.length - 1);
      if (part === undefined || !startsWith(occurrence.path, path)) continue;
      this.#edits.push({ start: part.start, end: part.end, text: formatTomlKey(name) });
    }
  }

  /** Creates an error with the line of the setting. */
  createError(path: Path, reason: string): MigrationError {
    const line = new KeyLineIndex(this.#text, this.#positions).findNearestLine(path);
    return new MigrationError(`${this.#file}:${line}: ${path.join(".")}: ${reason}`);
  }

  /** Returns the edited text. Throws a MigrationError if it does not parse to the expected result. */
  finish(): string {
    const removals = [...this.#removals, ...this.#buildInlineRemovals()];
    const remainingEdits = this.#edits.filter(
      ({ start, end }) => !removals.some((removal) => removal.start < end && start < removal.end),
    );
    const text = applyEdits(this.#text, [...remainingEdits, ...removals]);
    for (const { path, name } of this.#renames) {
      const table = this.#getParentTable(path);
      table[name] = table[getLastKey(path)] ?? {};
      delete table[getLastKey(path)];
    }
    if (!isDeepStrictEqual(tryParse(text), this.#expected))
      throw new MigrationError(`${this.#file}: cannot be edited automatically; edit it by hand`);
    return text;
  }

  #getEntry(path: Path): TomlEntry {
    const entry = this.#positions.entries.find((entry) => isDeepStrictEqual(entry.path, path));
    if (entry === undefined) throw this.createError(path, "cannot be edited automatically");
    return entry;
  }

  #formatPart({ path }: TomlEntry, { index, start, end }: TomlEntry["parts"][number]): string {
    const rename = this.#renames.find((candidate) =>
      isDeepStrictEqual(candidate.path, path.slice(0, index + 1)),
    );
    return rename === undefined ? this.#text.slice(start, end) : formatTomlKey(rename.name);
  }

  #insert(position: number, text: string): void {
    this.#edits.push({ start: position, end: position, text });
  }

  #insertLine({ start, end }: TextSpan, keyValue: string): void {
    const line = this.#getIndent(start) + keyValue;
    const lineEnding = this.#getLineEndingBefore(end);
    if (lineEnding === undefined) this.#insert(end, `${this.#detectLineEnding()}${line}`);
    else this.#insert(end, `${line}${lineEnding}`);
  }

  #removeLines({ start, end }: TextSpan): void {
    const comments = this.#positions.comments.filter(
      (comment) => start <= comment.start && comment.end <= end,
    );
    const lineEnding = this.#getLineEndingBefore(end) ?? "";
    const text = comments.map(
      (comment) => `${this.#getIndent(start)}${this.#text.slice(comment.start, comment.end)}`,
    );
    this.#removals.push({ start, end, text: text.map((line) => `${line}${lineEnding}`).join("") });
  }

  /** Includes preceding blank lines, so that a removed table does not leave two consecutive blank lines. */
  #withBlankLinesBefore({ start, end }: TextSpan): TextSpan {
    const blankLines = /(?:(?<=\n)[ \t]*\r?\n)*$/.exec(this.#text.slice(0, start));
    return { start: blankLines?.index ?? start, end };
  }

  #buildInlineRemovals(): Edit[] {
    const tables = new Set(
      [...this.#removedInlineEntries].map(({ location }) =>
        location.kind === "lines" ? undefined : location.table,
      ),
    );
    return [...tables].flatMap((table) => {
      const entries = this.#positions.entries.filter(
        ({ location }) => location.kind === "inline_table" && location.table === table,
      );
      const lastRemainingIndex = entries.findLastIndex(
        (entry) => !this.#removedInlineEntries.has(entry),
      );
      return entries.flatMap((entry, index) => {
        if (!this.#removedInlineEntries.has(entry)) return [];
        // An entry is removed with the comma after it; after the last remaining entry, with the comma before it.
        const span =
          index < lastRemainingIndex
            ? { start: getEntryStart(entry), end: getEntryStart(entries[index + 1]) }
            : {
                start: entries[index - 1]?.value.end ?? getEntryStart(entry),
                end: entry.value.end,
              };
        if (
          this.#positions.comments.some(({ start, end }) => span.start <= start && end <= span.end)
        )
          throw this.createError(
            entry.path.map(String),
            "cannot be removed because of the comment next to it; move the comment first",
          );
        return [{ ...span, text: "" }];
      });
    });
  }

  #getParentTable(path: Path): TomlTable {
    return path
      .slice(0, -1)
      .reduce<TomlTable>((table, name) => table[name] as TomlTable, this.#expected);
  }

  #getIndent(lineStart: number): string {
    return /^[ \t]*/.exec(this.#text.slice(lineStart))?.[0] ?? "";
  }

  #getLineEndingBefore(position: number): string | undefined {
    return /\r?\n$/.exec(this.#text.slice(0, position))?.[0];
  }

  #detectLineEnding(): string {
    return this.#text.includes("\r\n") ? "\r\n" : "\n";
  }
}

function startsWith(path: KeyPath, prefix: Path): boolean {
  return prefix.every((name, index) => path[index] === name);
}

function getLastKey(path: Path): string {
  return path.at(-1) ?? "";
}

function getEntryStart(entry: TomlEntry | undefined): number {
  return entry?.parts[0]?.start ?? 0;
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let [result, position] = ["", 0];
  for (const edit of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(position, edit.start) + edit.text;
    position = edit.end;
  }
  return result + text.slice(position);
}

function tryParse(text: string): TomlTable | undefined {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch {
    return undefined;
  }
}
