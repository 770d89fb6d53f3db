import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { isTomlTable, type TomlTable } from "../config/decode-section.ts";
import { formatTomlKey, formatTomlString } from "./format-toml.ts";
import { MigrationError } from "./migration-error.ts";
import { parseToml } from "./parse-toml.ts";
import type { Setting } from "./settings-file.ts";
import { TomlEditor } from "./toml-editor.ts";

/**
 * Returns the TOML text with the settings and everything else unchanged. `undefined`: the file does not exist.
 * Throws a MigrationError if the text is invalid or cannot contain the settings.
 */
export function editToml(
  text: string | undefined,
  file: string,
  settings: readonly Setting<string>[],
): string {
  const source = text ?? "";
  const config = parseToml(source, file);
  const editor = new TomlEditor(source, file);
  const newLines: string[] = [];
  const newTables = new Map<string, string[]>();
  for (const { path, value } of settings) {
    const table = findTable(config, path.slice(0, -1));
    const name = path.at(-1) ?? "";
    const siblings = table === undefined ? [] : listPlainSettings(table);
    const sibling = siblings.at(-1);
    if (table?.[name] !== undefined) {
      if (table[name] !== value) editor.set(path, value);
    } else if (sibling !== undefined) editor.add([...path.slice(0, -1), sibling], name, value);
    else {
      const line = `${formatTomlKey(name)} = ${formatTomlString(value)}`;
      if (path.length === 1) newLines.push(line);
      else {
        const header = `[${path.slice(0, -1).map(formatTomlKey).join(".")}]`;
        newTables.set(header, [...(newTables.get(header) ?? []), line]);
      }
    }
  }
  const edited = insertNew(editor.finish(), newLines, newTables);
  if (!hasSettings(edited, settings))
    throw new MigrationError(`${file}: cannot be edited automatically; edit it by hand`);
  return edited;
}

/** Settings before the first table belong to no table, new tables follow everything else. */
function insertNew(
  text: string,
  lines: readonly string[],
  tables: ReadonlyMap<string, readonly string[]>,
): string {
  const lineEnding = text.includes("\r\n") ? "\r\n" : "\n";
  const join = (...parts: readonly string[]) =>
    parts.filter((part) => part !== "").join(lineEnding);
  const head = lines.map((line) => line + lineEnding).join("");
  const body = text.trim() === "" ? "" : text.replace(/(?<!\n)$/, lineEnding);
  const tail = [...tables].map(
    ([header, tableLines]) => [header, ...tableLines].join(lineEnding) + lineEnding,
  );
  return join(head, body, ...tail);
}

function findTable(config: TomlTable, path: readonly string[]): TomlTable | undefined {
  let table: unknown = config;
  for (const name of path) table = isTomlTable(table) ? table[name] : undefined;
  return isTomlTable(table) ? table : undefined;
}

/** Returns the names of settings that are no tables. */
function listPlainSettings(table: TomlTable): string[] {
  return Object.entries(table).flatMap(([name, value]) =>
    typeof value === "object" && !(value instanceof Date) ? [] : [name],
  );
}

function hasSettings(text: string, settings: readonly Setting<string>[]): boolean {
  try {
    const config = parse(text, { integersAsBigInt: "asNeeded" });
    return settings.every(({ path, value }) =>
      isDeepStrictEqual(findTable(config, path.slice(0, -1))?.[path.at(-1) ?? ""], value),
    );
  } catch {
    return false;
  }
}
