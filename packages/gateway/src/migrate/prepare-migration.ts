import { relative, resolve } from "node:path";
import { parse } from "smol-toml";
import { isTomlTable } from "../config/decode-section.ts";
import { listConfigPaths, type HostEnvironment } from "../config/config-paths.ts";
import { createUnifiedDiff, type FileChange, type DiffLine } from "./diff.ts";
import { getCodexConfigPath, findGatewayConfigPath, readIfExists } from "./config-files.ts";
import { planMigration, type MigrationPlan } from "./plan-migration.ts";
import { MigrationError } from "./migration-error.ts";

/** A prepared migration. Nothing has been written yet. */
export interface Migration {
  readonly codexFile: string;
  readonly plan: MigrationPlan;
  /** The flags that start the gateway on the port of the plan; "" if it is the configured one. */
  readonly startFlags: string;
  readonly changes: readonly (FileChange & { readonly lines: readonly DiffLine[] })[];
  readonly notes: readonly string[];
}

export interface MigrationRequest {
  /** Path of the Codex configuration. Undefined: the default path. */
  readonly file: string | undefined;
  /** Path of the gateway's configuration. Undefined: the default path. */
  readonly gatewayFile: string | undefined;
  /** The port of the gateway. Undefined: the one in its configuration, else 4141. */
  readonly port: number | undefined;
}

export function prepareMigration(request: MigrationRequest, host: HostEnvironment): Migration {
  const { env, home, cwd } = host;
  const codexFile =
    request.file === undefined ? getCodexConfigPath(env, home) : resolve(cwd, request.file);
  const gatewayFile =
    request.gatewayFile === undefined
      ? findGatewayConfigPath(host)
      : resolve(cwd, request.gatewayFile);
  const codexText = readIfExists(codexFile);
  const gatewayText = readIfExists(gatewayFile);
  if (codexText === undefined && request.file !== undefined)
    throw new MigrationError(
      `${request.file} does not exist; pass the path of a Codex config.toml`,
    );
  const configuredPort = parsePort(gatewayText) ?? defaultPort;
  const port = request.port ?? configuredPort;
  const plan = planMigration({
    codexText: codexText ?? "",
    codexFile: toDisplayPath(codexFile, host),
    gatewayText,
    gatewayFile: toDisplayPath(gatewayFile, host),
    port,
    env,
  });
  const files: FileChange[] = [
    { file: codexFile, before: codexText, after: plan.codexText },
    { file: gatewayFile, before: gatewayText, after: plan.gatewayText ?? "" },
  ];
  const changes = files
    .filter(({ before, after }) => (before ?? "") !== after)
    .map((change) => ({
      ...change,
      lines: createUnifiedDiff({ ...change, file: toDisplayPath(change.file, host) }),
    }));
  const [localConfigPath = ""] = listConfigPaths(host);
  const isShadowed =
    !plan.isEmpty && gatewayFile !== localConfigPath && readIfExists(localConfigPath) !== undefined;
  const notes = isShadowed
    ? [
        ...plan.notes,
        "A gateway started in this folder uses ./deltawire.toml instead: start it elsewhere, or migrate with --config deltawire.toml.",
      ]
    : plan.notes;
  const startFlags = port === configuredPort ? "" : `--port ${port}`;
  return { codexFile, plan, startFlags, changes, notes };
}

const defaultPort = 4141;

/** Returns the configured port; undefined if there is none or the file is invalid, which `planMigration` reports. */
function parsePort(text: string | undefined): number | undefined {
  try {
    const { server } = parse(text ?? "");
    const port = isTomlTable(server) ? server["port"] : undefined;
    return typeof port === "number" && port > 0 ? port : undefined;
  } catch {
    return undefined;
  }
}

/** Shortens a path: relative to the working directory, or with `~`. */
export function toDisplayPath(
  file: string,
  { cwd, home }: Pick<HostEnvironment, "cwd" | "home">,
): string {
  const fromCwd = relative(cwd, file);
  if (!fromCwd.startsWith("..") && fromCwd !== "") return fromCwd;
  const fromHome = relative(home, file);
  return fromHome.startsWith("..") ? file : `~/${fromHome}`;
}

/** True for errors that the user can fix: a file that cannot be migrated, read or written. */
export function isExpectedError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
