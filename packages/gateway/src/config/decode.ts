import { decodeValue, isTable, kindOf, type Reading, type Table } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import { pathText, type Problems } from "./problems.ts";
import { settings, settingsOf, type Decoded, type Section } from "./settings.ts";

export { isTable, type Table } from "./decode-value.ts";

/** One table of the file by the settings that it may have. */
export function decodeSection<S extends Section>(
  section: S,
  table: unknown,
  path: KeyPath,
  reading: Reading,
): Decoded<S> {
  return decodeTable(section, table, path, reading) as Decoded<S>;
}

/** Says what is wrong, and leaves out what cannot be read. */
export function decodeTable(
  section: string,
  table: unknown,
  path: KeyPath,
  reading: Reading,
): Record<string, unknown> {
  const known = settingsOf(section);
  const given = tableOf(table, path, reading.problems);
  for (const name of Object.keys(given))
    if (!known.has(name))
      reading.problems.error([...path, name], `is no setting;${suggestion(name, section, known)}`);
  const decoded: Record<string, unknown> = {};
  for (const [name, setting] of known) {
    const value = given[name];
    const place = [...path, name];
    if (value !== undefined) decoded[name] = decodeValue(value, setting, place, reading);
    else if (setting.required !== undefined && isTable(table))
      reading.problems.error(place, `is missing; ${setting.required}`);
    decoded[name] ??= setting.default;
  }
  return decoded;
}

/** A table with names that the user chose, such as `[upstreams.*]`. */
export function tableOf(value: unknown, path: KeyPath, problems: Problems): Table {
  if (value === undefined) return {};
  if (isTable(value)) return value;
  problems.error(path, `is ${kindOf(value)}; write a table: [${pathText(path)}]`);
  return {};
}

function suggestion(name: string, section: string, known: ReadonlyMap<string, unknown>): string {
  const near = didYouMean(name, known.keys());
  if (near !== "") return near;
  const elsewhere = placesOf(name).filter((path) => !path.startsWith(`${section}.`));
  if (elsewhere[0] !== undefined) return ` did you mean ${elsewhere[0]}?`;
  return ` known here are ${[...known.keys()].join(", ")}`;
}

/** The settings that end in a name: `port` is `server.port`. */
export function placesOf(name: string): string[] {
  return settings.map(({ path }) => path).filter((path) => path.endsWith(`.${name}`));
}
