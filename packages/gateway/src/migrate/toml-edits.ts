import { isDeepStrictEqual } from "node:util";
import { parse, type TomlTable } from "smol-toml";
import {
  KeyLines,
  tomlPositions,
  type KeyPath,
  type Span,
  type TomlEntry,
  type TomlPositions,
} from "../config/toml-positions.ts";
import { MigrationError } from "./problem.ts";
import { tomlKey, tomlString } from "./toml-text.ts";

type Path = readonly string[];
interface Edit extends Span {
  readonly text: string;
}

/**
 * Changes of a TOML document that leave all else as it is written: comments, order, quotes, line ends. Beside the text
 * a parsed copy is changed in the same way, and `finish` gives out only a text that says the same.
 */
export class TomlEdits {
  readonly #text: string;
  readonly #file: string;
  readonly #positions: TomlPositions;
  readonly #expected: TomlTable;
  readonly #edits: Edit[] = [];
  readonly #removed: Edit[] = [];
  readonly #removedInline = new Set<TomlEntry>();
  readonly #renamed: { path: Path; name: string }[] = [];

  /** The text is TOML: whoever calls this has parsed it. */
  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#positions = tomlPositions(text);
    this.#expected = parse(text, { integersAsBigInt: "asNeeded" });
  }

  /** A string that is there already. */
  set(path: Path, value: string): void {
    const { start, end } = this.#entryAt(path).value;
    this.#edits.push({ start, end, text: tomlString(value, this.#text.slice(start, end)) });
    this.#tableAround(path)[lastOf(path)] = value;
  }

  /** A string beside another one, directly behind it. */
  add(beside: Path, key: string, value: string): void {
    const entry = this.#entryAt(beside);
    const lastPart = entry.parts.at(-1);
    const sign = this.#text.slice(lastPart?.end, entry.value.start);
    const table = entry.parts.slice(0, -1).map((part) => `${this.#written(entry, part)}.`);
    const equals = sign === "=" ? "=" : " = ";
    const written = `${table.join("")}${tomlKey(key)}${equals}${tomlString(value)}`;
    if (entry.place.in === "inline table") this.#insert(entry.value.end, `, ${written}`);
    else this.#insertLine(entry.place.lines, written);
    this.#tableAround(beside)[key] = value;
  }

  /** The setting, or the table with all that is in it, wherever its parts stand. Comments stay. */
  remove(path: Path): void {
    for (const header of this.#positions.headers)
      if (startsWith(header.path, path)) this.#removeLines(this.#withBlankLinesBefore(header.line));
    for (const entry of this.#positions.entries) {
      if (!startsWith(entry.path, path)) continue;
      if (entry.place.in === "lines") this.#removeLines(entry.place.lines);
      else if (entry.place.of.path.length < path.length) this.#removedInline.add(entry);
    }
    delete this.#tableAround(path)[lastOf(path)];
  }

  /** Another name for the last part of the path; what was said of the table before is written under the new one. */
  rename(path: Path, name: string): void {
    this.#renamed.push({ path, name });
    for (const place of [...this.#positions.headers, ...this.#positions.entries]) {
      const part = place.parts.find(({ index }) => index === path.length - 1);
      if (part === undefined || !startsWith(place.path, path)) continue;
      this.#edits.push({ start: part.start, end: part.end, text: tomlKey(name) });
    }
  }

  /** A refusal that names the line of the setting. */
  refusal(path: Path, why: string): MigrationError {
    const line = new KeyLines(this.#text, this.#positions).nearestLine(path);
    return new MigrationError(`${this.#file}:${line}: ${path.join(".")}: ${why}`);
  }

  finish(): string {
    const removed = [...this.#removed, ...this.#inlineRemovals()];
    const kept = this.#edits.filter(
      ({ start, end }) => !removed.some((gone) => gone.start < end && start < gone.end),
    );
    const text = applied(this.#text, [...kept, ...removed]);
    for (const { path, name } of this.#renamed) {
      const table = this.#tableAround(path);
      table[name] = table[lastOf(path)] ?? {};
      delete table[lastOf(path)];
    }
    if (!isDeepStrictEqual(parsedOrNothing(text), this.#expected))
      throw new MigrationError(
        `${this.#file}: it is written in a way that cannot be changed in place; please change it by hand`,
      );
    return text;
  }

  #entryAt(path: Path): TomlEntry {
    const entry = this.#positions.entries.find((entry) => isDeepStrictEqual(entry.path, path));
    if (entry === undefined) throw this.refusal(path, "cannot be changed in place");
    return entry;
  }

  #written({ path }: TomlEntry, { index, start, end }: TomlEntry["parts"][number]): string {
    const renamed = this.#renamed.find((one) =>
      isDeepStrictEqual(one.path, path.slice(0, index + 1)),
    );
    return renamed === undefined ? this.#text.slice(start, end) : tomlKey(renamed.name);
  }

  #insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text });
  }

  #insertLine({ start, end }: Span, written: string): void {
    const line = this.#indentAt(start) + written;
    const lineEnd = this.#lineEndBefore(end);
    if (lineEnd === undefined) this.#insert(end, `${this.#usualLineEnd()}${line}`);
    else this.#insert(end, `${line}${lineEnd}`);
  }

  #removeLines({ start, end }: Span): void {
    const comments = this.#positions.comments.filter((it) => start <= it.start && it.end <= end);
    const lineEnd = this.#lineEndBefore(end) ?? "";
    const text = comments.map(
      (comment) => `${this.#indentAt(start)}${this.#text.slice(comment.start, comment.end)}`,
    );
    this.#removed.push({ start, end, text: text.map((line) => `${line}${lineEnd}`).join("") });
  }

  /** So that two paragraphs do not stand apart by two blank lines when the one between them is gone. */
  #withBlankLinesBefore({ start, end }: Span): Span {
    const blank = /(?:(?<=\n)[ \t]*\r?\n)*$/.exec(this.#text.slice(0, start));
    return { start: blank?.index ?? start, end };
  }

  #inlineRemovals(): Edit[] {
    const tables = new Set(
      [...this.#removedInline].map(({ place }) => (place.in === "lines" ? undefined : place.of)),
    );
    return [...tables].flatMap((table) => {
      const entries = this.#positions.entries.filter(
        ({ place }) => place.in === "inline table" && place.of === table,
      );
      const lastKept = entries.findLastIndex((entry) => !this.#removedInline.has(entry));
      return entries.flatMap((entry, index) => {
        if (!this.#removedInline.has(entry)) return [];
        // A comma goes with what it follows, and behind the last one that stays with what it precedes.
        const span =
          index < lastKept
            ? { start: startOf(entry), end: startOf(entries[index + 1]) }
            : { start: entries[index - 1]?.value.end ?? startOf(entry), end: entry.value.end };
        if (this.#positions.comments.some((it) => span.start <= it.start && it.end <= span.end))
          throw this.refusal(
            entry.path.map(String),
            "a comment beside it would be lost; move it away first",
          );
        return [{ ...span, text: "" }];
      });
    });
  }

  #tableAround(path: Path): TomlTable {
    return path
      .slice(0, -1)
      .reduce<TomlTable>((table, name) => table[name] as TomlTable, this.#expected);
  }

  #indentAt(lineStart: number): string {
    return /^[ \t]*/.exec(this.#text.slice(lineStart))?.[0] ?? "";
  }

  #lineEndBefore(at: number): string | undefined {
    return /\r?\n$/.exec(this.#text.slice(0, at))?.[0];
  }

  #usualLineEnd(): string {
    return this.#text.includes("\r\n") ? "\r\n" : "\n";
  }
}

function startsWith(path: KeyPath, start: Path): boolean {
  return start.every((name, index) => path[index] === name);
}

function lastOf(path: Path): string {
  return path.at(-1) ?? "";
}

function startOf(entry: TomlEntry | undefined): number {
  return entry?.parts[0]?.start ?? 0;
}

function applied(text: string, edits: readonly Edit[]): string {
  let [result, at] = ["", 0];
  for (const edit of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

function parsedOrNothing(text: string): TomlTable | undefined {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch {
    return undefined;
  }
}
