import { textBeside, type Beside } from "./beside.ts";
import type { SkillConfig } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import { isTable, type Reading } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

const mostKb = 200;

/** `[skills.*]`: texts that chats can have. */
export function readSkills(
  table: unknown,
  beside: Beside,
  reading: Reading,
): Map<string, SkillConfig> {
  const named = tableOf(table, ["skills"], reading.problems);
  return new Map(
    Object.entries(named).map(([name, given]) => [name, readSkill(name, given, beside, reading)]),
  );
}

function readSkill(name: string, table: unknown, beside: Beside, reading: Reading): SkillConfig {
  const path = ["skills", name];
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    reading.problems.error(
      path,
      "is no name for a skill; begin with a letter and use letters, digits, - and _ only, 64 at most",
    );
  const { file, when, always, description = "" } = decodeSection("skills.*", table, path, reading);
  checkUse(table, path, reading);
  const text = file === undefined ? "" : textOf(file, [...path, "file"], beside, reading);
  return { name, text, ...(when === undefined ? {} : { when }), always, description };
}

/** Looked at as it is written, so that a value of the wrong type is not missing too. */
function checkUse(table: unknown, path: KeyPath, { problems }: Reading): void {
  if (!isTable(table)) return;
  const { when, always = false } = table;
  if (when !== undefined && always === true)
    problems.error(
      [...path, "always"],
      "is there beside when; keep one of the two: the model is told the whole file always, or reads it when it needs it",
    );
  else if (when === undefined && always === false)
    problems.error(
      [...path, "when"],
      'is missing; write when = "…", so that the model knows when to read it, or always = true',
    );
}

function textOf(file: string, place: KeyPath, beside: Beside, reading: Reading): string {
  const text = textBeside(beside, file, place, reading) ?? "";
  const kb = Math.ceil(Buffer.byteLength(text) / 1024);
  if (kb > mostKb)
    reading.problems.error(
      place,
      `has ${kb} KB, and ${mostKb} are the most; shorten it, or make several skills of it`,
    );
  return text;
}
