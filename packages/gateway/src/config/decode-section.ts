import {
  decodeValue,
  isTomlTable,
  describeType,
  type DecodeContext,
  type TomlTable,
} from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import { formatKeyPath, type ConfigProblems } from "./config-problems.ts";
import {
  settingDefinitions,
  getSectionSettings,
  type DecodedSection,
  type ConfigSection,
} from "./setting-definitions.ts";
import type { Setting } from "./setting.ts";

export { isTomlTable, type TomlTable } from "./decode-value.ts";

/** Decodes one table of the file. Reports errors; settings that are missing or invalid have their default, or undefined. */
export function decodeSection<S extends ConfigSection>(
  section: S,
  table: unknown,
  path: KeyPath,
  context: DecodeContext,
): DecodedSection<S> {
  return decodeTable(section, table, path, context) as DecodedSection<S>;
}

/** Like `decodeSection`, for a section whose settings have no static type. */
export function decodeTable(
  section: string,
  table: unknown,
  path: KeyPath,
  context: DecodeContext,
): Record<string, unknown> {
  const knownSettings = getSectionSettings(section);
  const { values, writtenNames } = renameFormerSettings(
    expectTable(table, path, context.problems),
    knownSettings,
    path,
    context,
  );
  for (const name of Object.keys(values))
    if (!knownSettings.has(name))
      context.problems.reportUnknownSetting(
        [...path, name],
        suggestSetting(name, section, knownSettings),
      );
  const decoded: Record<string, unknown> = {};
  for (const [name, setting] of knownSettings) {
    const value = values[name];
    const location = [...path, writtenNames.get(name) ?? name];
    if (value !== undefined) decoded[name] = decodeValue(value, setting, location, context);
    else if (setting.required !== undefined && isTomlTable(table))
      context.problems.error(location, `missing; ${setting.required}`);
    decoded[name] ??= setting.default;
  }
  return decoded;
}

/** Replaces names and values of earlier versions, each with a warning. `writtenNames` maps current names to those in the file. */
function renameFormerSettings(
  table: TomlTable,
  knownSettings: ReadonlyMap<string, Setting>,
  path: KeyPath,
  { problems }: DecodeContext,
): { values: TomlTable; writtenNames: ReadonlyMap<string, string> } {
  const renamed: Record<string, unknown> = { ...table };
  const writtenNames = new Map<string, string>();
  for (const [name, { formerName, formerValues }] of knownSettings) {
    if (formerName !== undefined && Object.hasOwn(renamed, formerName)) {
      const location = [...path, formerName];
      if (Object.hasOwn(renamed, name))
        problems.error(location, `was renamed to ${name}, which is also set; remove one of them`);
      else {
        problems.warn(location, `was renamed to ${name}; the old name still works`);
        renamed[name] = renamed[formerName];
        writtenNames.set(name, formerName);
      }
      delete renamed[formerName];
    }
    const value = renamed[name];
    if (
      formerValues === undefined ||
      typeof value !== "string" ||
      !Object.hasOwn(formerValues, value)
    )
      continue;
    problems.warn(
      [...path, writtenNames.get(name) ?? name],
      `"${value}" was renamed to "${formerValues[value]}"; the old value still works`,
    );
    renamed[name] = formerValues[value];
  }
  return { values: renamed, writtenNames };
}

/** Returns the value if it is a table, and {} if it is undefined. Otherwise reports an error and returns {}. */
export function expectTable(value: unknown, path: KeyPath, problems: ConfigProblems): TomlTable {
  if (value === undefined) return {};
  if (isTomlTable(value)) return value;
  problems.error(path, `must be a table ([${formatKeyPath(path)}]), got ${describeType(value)}`);
  return {};
}

function suggestSetting(
  name: string,
  section: string,
  knownSettings: ReadonlyMap<string, unknown>,
): string {
  const hint = didYouMean(name, knownSettings.keys());
  if (hint !== "") return hint;
  const otherPaths = findSettingPaths(name).filter((path) => !path.startsWith(`${section}.`));
  if (otherPaths[0] !== undefined) return ` (did you mean ${otherPaths[0]}?)`;
  return `; known settings: ${[...knownSettings.keys()].join(", ")}`;
}

/** Returns the paths of all settings with this name, current or former: `server.port` for `port`. */
export function findSettingPaths(name: string): string[] {
  return settingDefinitions
    .filter(({ path, formerName }) => path.endsWith(`.${name}`) || formerName === name)
    .map(({ path }) => path);
}
