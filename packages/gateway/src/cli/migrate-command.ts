import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { paintDiff } from "./paint-diff.ts";
import { explainFlagError, UsageError } from "./parse-arguments.ts";
import { formatCommandLine, getCommandName, type Terminal } from "../terminal.ts";
import { formatDiff } from "../migrate/diff.ts";
import { createBackup, writeFileAtomic } from "../migrate/config-files.ts";
import type { MigrationPlan } from "../migrate/plan-migration.ts";
import {
  isExpectedError,
  prepareMigration,
  toDisplayPath,
  type Migration,
  type MigrationRequest,
} from "../migrate/prepare-migration.ts";

/** Shows a migration, or writes it with `--write`. Returns the exit code: 1 if the migration failed, else 0. */
export async function runMigrateCommand(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const migrateOptions = parseMigrateOptions(args);
  try {
    const migration = prepareMigration(migrateOptions, terminal);
    const isWritten = migrateOptions.write && !migration.plan.isEmpty;
    const backup = isWritten ? writeChanges(migration) : undefined;
    if (migrateOptions.json) terminal.stdout.write(formatJson(migration, isWritten, backup));
    else terminal.stdout.write(formatText(migration, migrateOptions, isWritten, backup, terminal));
    return 0;
  } catch (error) {
    if (!isExpectedError(error)) throw error;
    if (migrateOptions.json) terminal.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
    else terminal.stderr.write(`${error.message}\n`);
    return 1;
  }
}

interface MigrateOptions extends MigrationRequest {
  readonly write: boolean;
  readonly json: boolean;
}

function parseMigrateOptions(args: readonly string[]): MigrateOptions {
  const { values, positionals } = parseMigrateArguments(args);
  if (positionals.length > 1)
    throw new UsageError(`migrate accepts only one file, got ${positionals.join(" and ")}`);
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new UsageError(
      `--port: must be a port number from 1 to 65535, got ${JSON.stringify(values.port)}`,
    );
  return {
    file: positionals[0],
    gatewayFile: values.config,
    port,
    write: values.write === true,
    json: values.json === true,
  };
}

function parseMigrateArguments(args: readonly string[]) {
  const options = {
    write: { type: "boolean" },
    json: { type: "boolean" },
    config: { type: "string", short: "c" },
    port: { type: "string", short: "p" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const problem = explainFlagError(error as NodeJS.ErrnoException, Object.keys(options));
    throw new UsageError(`${problem}; migrate --help lists the flags`);
  }
}

/** Writes the gateway's file first: Codex's new configuration depends on it. */
function writeChanges({ codexFile, changes }: Migration): string | undefined {
  let backup: string | undefined;
  for (const { file, after } of changes.toReversed()) {
    if (file === codexFile) backup = createBackup(file);
    writeFileAtomic(file, after);
  }
  return backup;
}

function formatJson({ changes, notes }: Migration, isWritten: boolean, backup?: string): string {
  const files = changes.map(({ file, lines }) => ({ file, diff: formatDiff(lines) }));
  return `${JSON.stringify({ changes: files, notes, written: isWritten, backup }, null, 2)}\n`;
}

function formatText(
  { plan, startFlags, changes, codexFile, notes }: Migration,
  migrateOptions: MigrateOptions,
  isWritten: boolean,
  backup: string | undefined,
  terminal: Terminal,
): string {
  const output: string[] = [];
  if (plan.isEmpty)
    output.push(
      existsSync(codexFile)
        ? `Nothing to do: no provider in ${toDisplayPath(codexFile, terminal)} has wire_api = "chat".`
        : `Nothing to do: ${toDisplayPath(codexFile, terminal)} does not exist.`,
    );
  for (const { lines } of changes) output.push(...paintDiff(lines, terminal), "");
  if (notes.length > 0) output.push("Note:", ...notes.map((note) => `  - ${note}`), "");
  if (isWritten) {
    for (const { file } of changes) output.push(`Written: ${toDisplayPath(file, terminal)}`);
    if (backup !== undefined) output.push(`Backup: ${toDisplayPath(backup, terminal)}`);
    output.push("");
  }
  if (!plan.isEmpty)
    output.push(
      ...formatNextSteps(plan, startFlags, migrateOptions, isWritten, getCommandName(terminal.env)),
    );
  return `${output.join("\n").trimEnd()}\n`;
}

function formatNextSteps(
  { unsetVariables }: MigrationPlan,
  startFlags: string,
  migrateOptions: MigrateOptions,
  isWritten: boolean,
  command: string,
): string[] {
  const rerunArguments = [
    "migrate",
    ...(migrateOptions.file === undefined ? [] : [migrateOptions.file]),
    ...(migrateOptions.gatewayFile === undefined ? [] : ["--config", migrateOptions.gatewayFile]),
    ...(migrateOptions.port === undefined ? [] : ["--port", String(migrateOptions.port)]),
    "--write",
  ];
  const steps = [
    ...(isWritten ? [] : [formatCommandLine(command, rerunArguments.join(" "))]),
    ...(unsetVariables.length === 0
      ? []
      : [`set ${unsetVariables.join(", ")} in the gateway's environment`]),
    formatCommandLine(command, startFlags),
    "codex",
  ];
  const heading = isWritten ? "Next:" : "Nothing has been written. Next:";
  return [heading, ...steps.map((step, index) => `  ${index + 1}. ${step}`)];
}
