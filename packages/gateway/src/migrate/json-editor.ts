import { isDeepStrictEqual } from "node:util";
import { parseJsonDocument, type JsonNode } from "./json-document.ts";
import { MigrationError } from "./migration-error.ts";
import type { JsonValue, Setting } from "./settings-file.ts";

/**
 * Returns the JSON text with the settings, and everything else unchanged: comments, order, whitespace. `undefined`: the file does not
 * exist. Throws a MigrationError if the text is invalid or cannot contain the settings.
 */
export function editJson(
  text: string | undefined,
  file: string,
  settings: readonly Setting[],
): string {
  if (text === undefined || text.trim() === "") return `${format(merge({}, settings), "  ", "")}\n`;
  const expected = merge(parseJsonDocument(text, file).value, settings);
  // One after the other, because each insertion moves the positions of the next.
  const edited = settings.reduce(
    (current, setting) => editSetting(current, parseJsonDocument(current, file), file, setting),
    text,
  );
  if (!isDeepStrictEqual(parseJsonDocument(edited, file).value, expected))
    throw new MigrationError(`${file}: cannot be edited automatically; edit it by hand`);
  return edited;
}

function editSetting(text: string, root: JsonNode, file: string, { path, value }: Setting): string {
  const indentUnit = /^\{\s*?\n([ \t]+)/.exec(text)?.[1] ?? "  ";
  let node = root;
  for (const [depth, name] of path.entries()) {
    if (node.entries === undefined) {
      const line = text.slice(0, node.start).split("\n").length;
      const setting = path.slice(0, depth).join(".");
      throw new MigrationError(
        `${file}:${line}: ${setting === "" ? "the file" : setting} must contain an object, so ${path.join(".")} cannot be set`,
      );
    }
    // As in JSON.parse, the last one of equal names counts.
    const entry = node.entries.findLast((candidate) => candidate.name === name);
    if (entry === undefined) {
      const newValue = path
        .slice(depth + 1)
        .reduceRight<JsonValue>((inner, innerName) => ({ [innerName]: inner }), value);
      return insertEntry(text, node, name, newValue, indentUnit);
    }
    node = entry.node;
  }
  if (isDeepStrictEqual(node.value, value)) return text;
  const indent = getLineIndent(text, node.start);
  return text.slice(0, node.start) + format(value, indentUnit, indent) + text.slice(node.end);
}

function insertEntry(
  text: string,
  { start, end, entries = [] }: JsonNode,
  name: string,
  value: JsonValue,
  indentUnit: string,
): string {
  const lineEnding = text.includes("\r\n") ? "\r\n" : "\n";
  const last = entries.at(-1);
  const isMultiline = last === undefined || text.slice(start, last.start).includes("\n");
  const outerIndent = getLineIndent(text, start);
  const indent =
    last === undefined ? outerIndent + indentUnit : getLineIndent(text, last.node.start);
  const source = `${JSON.stringify(name)}: ${format(value, indentUnit, indent).replaceAll("\n", lineEnding)}`;
  if (last === undefined) {
    // A comment in an empty object stays.
    const inner = text.slice(start + 1, end - 1).trimEnd();
    return `${text.slice(0, start + 1)}${inner}${lineEnding}${indent}${source}${lineEnding}${outerIndent}${text.slice(end - 1)}`;
  }
  const position = last.node.end;
  const separator = isMultiline ? `,${lineEnding}${indent}` : ", ";
  return text.slice(0, position) + separator + source + text.slice(position);
}

function getLineIndent(text: string, position: number): string {
  const lineStart = text.lastIndexOf("\n", position - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? "";
}

function format(value: unknown, indentUnit: string, indent: string): string {
  return JSON.stringify(value, null, indentUnit).replaceAll("\n", `\n${indent}`);
}

function merge(target: unknown, settings: readonly Setting[]): unknown {
  return settings.reduce((current, { path, value }) => withValue(current, path, value), target);
}

function withValue(target: unknown, path: readonly string[], value: JsonValue): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const object = typeof target === "object" && target !== null ? target : {};
  const current = (object as Record<string, unknown>)[name];
  return { ...object, [name]: withValue(current, rest, value) };
}
