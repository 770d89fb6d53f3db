import { relative, resolve } from "node:path";
import { parse } from "smol-toml";
import { isTable } from "../config/decode.ts";
import { configPlaces, type World } from "../config/find.ts";
import { unifiedDiff, type DiffedFile, type DiffLine } from "./diff.ts";
import { codexConfigFile, gatewayConfigFile, readIfThere } from "./files.ts";
import { planMigration, type MigrationPlan } from "./plan.ts";
import { MigrationError } from "./problem.ts";

/** What a migration would change, before anything is written. */
export interface Migration {
  readonly codexFile: string;
  readonly plan: MigrationPlan;
  /** What starts the gateway where the plan expects it. */
  readonly start: string;
  readonly changes: readonly (DiffedFile & { readonly lines: readonly DiffLine[] })[];
  readonly notes: readonly string[];
}

export interface MigrationAsked {
  /** The configuration of Codex, and that of the gateway; undefined: where they usually are. */
  readonly file: string | undefined;
  readonly gatewayFile: string | undefined;
  /** Where the gateway listens; undefined: as its file says. */
  readonly port: number | undefined;
}

export function prepareMigration(asked: MigrationAsked, world: World): Migration {
  const { env, home, cwd } = world;
  const codexFile =
    asked.file === undefined ? codexConfigFile(env, home) : resolve(cwd, asked.file);
  const gatewayFile =
    asked.gatewayFile === undefined ? gatewayConfigFile(world) : resolve(cwd, asked.gatewayFile);
  const codexText = readIfThere(codexFile);
  const gatewayText = readIfThere(gatewayFile);
  if (codexText === undefined && asked.file !== undefined)
    throw new MigrationError(`${asked.file} does not exist; give the path of a Codex config.toml`);
  const usual = portIn(gatewayText) ?? usualPort;
  const port = asked.port ?? usual;
  const plan = planMigration({
    codexText: codexText ?? "",
    codexFile: shown(codexFile, world),
    gatewayText,
    gatewayFile: shown(gatewayFile, world),
    port,
    env,
  });
  const files: DiffedFile[] = [
    { file: codexFile, before: codexText, after: plan.codexText },
    { file: gatewayFile, before: gatewayText, after: plan.gatewayText ?? "" },
  ];
  const changes = files
    .filter(({ before, after }) => (before ?? "") !== after)
    .map((change) => ({
      ...change,
      lines: unifiedDiff({ ...change, file: shown(change.file, world) }),
    }));
  const [inWorkingFolder = ""] = configPlaces(world);
  const isHidden =
    !plan.nothingToDo &&
    gatewayFile !== inWorkingFolder &&
    readIfThere(inWorkingFolder) !== undefined;
  const notes = isHidden
    ? [
        ...plan.notes,
        "A gateway that is started in this folder reads ./deltawire.toml instead: start it elsewhere, or migrate with --config deltawire.toml.",
      ]
    : plan.notes;
  const start = port === usual ? "npm start" : `npm start -- --port ${port}`;
  return { codexFile, plan, start, changes, notes };
}

const usualPort = 4141;

/** Where the gateway of that file listens; what is wrong with the file is said by the plan. */
function portIn(text: string | undefined): number | undefined {
  try {
    const { server } = parse(text ?? "");
    const port = isTable(server) ? server["port"] : undefined;
    return typeof port === "number" && port > 0 ? port : undefined;
  } catch {
    return undefined;
  }
}

/** As the user would write it. */
export function shown(file: string, { cwd, home }: Pick<World, "cwd" | "home">): string {
  const here = relative(cwd, file);
  if (!here.startsWith("..") && here !== "") return here;
  const atHome = relative(home, file);
  return atHome.startsWith("..") ? file : `~/${atHome}`;
}

/** What the user can do something about: a file that cannot be migrated, read or written. */
export function isMigrationProblem(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
