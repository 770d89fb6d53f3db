import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { UsageError } from "./arguments.ts";
import { commandName, type Terminal } from "../terminal.ts";
import { variableValue } from "../config/secret.ts";
import { diffText, type DiffLine } from "../migrate/diff.ts";
import { backUp, writeWhole } from "../migrate/files.ts";
import type { MigrationPlan } from "../migrate/plan.ts";
import {
  isMigrationProblem,
  prepareMigration,
  shown,
  type Migration,
  type MigrationAsked,
} from "../migrate/prepare.ts";

/** `deltawire migrate [FILE] [--write] [--json]`: 0 when it is done, shown, or not needed, 1 when it cannot be done. */
export async function migrateCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const asked = readArguments(args);
  try {
    const migration = prepareMigration(asked, terminal);
    const written = asked.write && !migration.plan.nothingToDo;
    const backup = written ? write(migration) : undefined;
    if (asked.json) terminal.stdout.write(inJson(migration, written, backup));
    else terminal.stdout.write(inWords(migration, asked, written, backup, terminal));
    return 0;
  } catch (error) {
    if (!isMigrationProblem(error)) throw error;
    if (asked.json) terminal.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
    else terminal.stderr.write(`${error.message}\n`);
    return 1;
  }
}

interface Asked extends MigrationAsked {
  readonly write: boolean;
  readonly json: boolean;
}

function readArguments(args: readonly string[]): Asked {
  const { values, positionals } = parsedArguments(args);
  if (positionals.length > 1) throw new UsageError("migrate takes one file");
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new UsageError("--port: write a number from 1 to 65535");
  return {
    file: positionals[0],
    gatewayFile: values.config,
    port,
    write: values.write === true,
    json: values.json === true,
  };
}

function parsedArguments(args: readonly string[]) {
  const options = {
    write: { type: "boolean" },
    json: { type: "boolean" },
    config: { type: "string", short: "c" },
    port: { type: "string", short: "p" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(". ")[0] : "";
    throw new UsageError(`${reason}; it is migrate [FILE] [--write] [--json]`);
  }
}

/** The gateway's file first: without it, the new one of Codex leads nowhere. */
function write({ codexFile, changes }: Migration): string | undefined {
  let backup: string | undefined;
  for (const { file, after } of changes.toReversed()) {
    if (file === codexFile) backup = backUp(file);
    writeWhole(file, after);
  }
  return backup;
}

function inJson({ changes, notes }: Migration, written: boolean, backup?: string): string {
  const files = changes.map(({ file, lines }) => ({ file, diff: diffText(lines) }));
  return `${JSON.stringify({ changes: files, notes, written, backup }, null, 2)}\n`;
}

function inWords(
  { plan, start, changes, codexFile, notes }: Migration,
  asked: Asked,
  written: boolean,
  backup: string | undefined,
  terminal: Terminal,
): string {
  const text: string[] = [];
  if (plan.nothingToDo)
    text.push(
      existsSync(codexFile)
        ? `Nothing to do: no provider in ${shown(codexFile, terminal)} has wire_api = "chat".`
        : `Nothing to do: there is no ${shown(codexFile, terminal)}.`,
    );
  const paint = hasColours(terminal) ? coloured : ({ text }: DiffLine) => text;
  for (const { lines } of changes) text.push(...lines.map(paint), "");
  if (notes.length > 0) text.push("Note:", ...notes.map((note) => `  - ${note}`), "");
  if (written) {
    for (const { file } of changes) text.push(`Written: ${shown(file, terminal)}`);
    if (backup !== undefined) text.push(`As it was: ${shown(backup, terminal)}`);
    text.push("");
  }
  if (!plan.nothingToDo)
    text.push(...nextSteps(plan, start, asked, written, commandName(terminal.env)));
  return `${text.join("\n").trimEnd()}\n`;
}

function nextSteps(
  { unset }: MigrationPlan,
  start: string,
  asked: Asked,
  written: boolean,
  command: string,
): string[] {
  const again = [
    `${command} migrate`,
    ...(asked.file === undefined ? [] : [asked.file]),
    ...(asked.gatewayFile === undefined ? [] : ["--config", asked.gatewayFile]),
    ...(asked.port === undefined ? [] : ["--port", String(asked.port)]),
    "--write",
  ];
  const steps = [
    ...(written ? [] : [again.join(" ")]),
    ...(unset.length === 0 ? [] : [`set ${unset.join(", ")} where the gateway runs`]),
    start,
    "codex",
  ];
  const heading = written ? "Next:" : "Nothing has been written. Next:";
  return [heading, ...steps.map((step, index) => `  ${index + 1}. ${step}`)];
}

function hasColours({ stdout, env }: Terminal): boolean {
  const isPlain = variableValue("NO_COLOR", env) !== undefined || env["TERM"] === "dumb";
  return stdout.isTTY === true && !isPlain;
}

function coloured({ kind, text }: DiffLine): string {
  const colour = colours[kind];
  return colour === undefined ? text : `\u001B[${colour}m${text}\u001B[0m`;
}

const colours: Partial<Record<DiffLine["kind"], number>> = {
  file: 1,
  place: 36,
  removed: 31,
  added: 32,
};
