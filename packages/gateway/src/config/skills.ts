import { readReferencedFile, type ConfigFileContext } from "./referenced-files.ts";
import type { SkillConfig } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import { isTomlTable, type DecodeContext } from "./decode-value.ts";
import type { KeyPath } from "./toml-positions.ts";

const maxSkillKb = 200;

/** Decodes `[skills.*]`: instructions that chats can use. */
export function decodeSkills(
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): Map<string, SkillConfig> {
  const tables = expectTable(table, ["skills"], context.problems);
  return new Map(
    Object.entries(tables).map(([name, values]) => [
      name,
      decodeSkill(name, values, fileContext, context),
    ]),
  );
}

function decodeSkill(
  name: string,
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): SkillConfig {
  const path = ["skills", name];
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    context.problems.error(
      path,
      "invalid skill name; start with a letter and use only letters, digits, - and _, at most 64 characters",
    );
  const { file, when, always, description = "" } = decodeSection("skills.*", table, path, context);
  checkActivation(table, path, context);
  const text =
    file === undefined ? "" : readSkillText(file, [...path, "file"], fileContext, context);
  return { name, text, ...(when === undefined ? {} : { when }), always, description };
}

/** Requires either `when` or `always`. Checks the undecoded table: a value of the wrong type is not also reported as missing. */
function checkActivation(table: unknown, path: KeyPath, { problems }: DecodeContext): void {
  if (!isTomlTable(table)) return;
  const { when, always = false } = table;
  if (when !== undefined && always === true)
    problems.error(
      [...path, "always"],
      "cannot be combined with when; remove one of them: the model receives the file in every chat, or reads it when it needs it",
    );
  else if (when === undefined && always === false)
    problems.error(
      [...path, "when"],
      'missing; write when = "…", so that the model knows when to read it, or always = true',
    );
}

function readSkillText(
  file: string,
  location: KeyPath,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): string {
  const text = readReferencedFile(fileContext, file, location, context) ?? "";
  const kb = Math.ceil(Buffer.byteLength(text) / 1024);
  if (kb > maxSkillKb)
    context.problems.error(
      location,
      `the file has ${kb} KB, and the limit is ${maxSkillKb} KB; shorten it, or split it into several skills`,
    );
  return text;
}
