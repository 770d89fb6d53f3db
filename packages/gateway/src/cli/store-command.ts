import { parseArgs } from "node:util";
import { resolve } from "node:path";
import {
  checkStore,
  copyStore,
  StoreError,
  type StoreCheckReport,
  type StoreLocation,
} from "@deltawire/store";
import { didYouMean } from "@deltawire/tasks";
import { resolveDataFolder } from "../config/config-paths.ts";
import { loadConfig } from "../config/load-config.ts";
import { parseEnvReference } from "../config/secret.ts";
import { sealingKeySecret } from "../reasoning/sealing-key.ts";
import { resolveStorePath } from "../configured-store.ts";
import type { Terminal } from "../terminal.ts";
import { explainFlagError, UsageError } from "./parse-arguments.ts";
import { ProgressBar } from "./progress-bar.ts";

const actions = ["copy", "check"] as const;
/** 128 plus the number of SIGINT, as shells report it. */
const exitCodeInterrupted = 130;
/** Of a URL without --schema, whatever the configuration says. */
const defaultSchema = "deltawire";

/** Copies a store, or checks one. Returns the exit code: 1 if the copy failed or the check found problems, else 0. */
export async function runStoreCommand(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { values, positionals } = parseStoreArguments(args);
  const [action = "", ...stores] = positionals;
  const schema = values.schema === undefined ? {} : { schema: values.schema };
  const locate = (store: string) =>
    addBucket(parseLocation(store, schema, terminal), values, terminal);
  try {
    if (action === "copy") {
      const [from, to, ...rest] = stores;
      if (from === undefined || to === undefined || rest.length > 0)
        throw new UsageError(
          "store copy needs two stores: FROM and TO; store --help shows examples",
        );
      return await runCopy(locate(from), locate(to), terminal);
    }
    if (action === "check") {
      if (stores.length > 1)
        throw new UsageError(`store check accepts one store, got ${stores.length}`);
      const [store] = stores;
      const location =
        store === undefined ? getConfiguredLocation(values, terminal) : locate(store);
      return await runCheck(location, values.json === true, terminal);
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    terminal.stderr.write(`${error.message}\n`);
    return 1;
  }
  // A URL may contain a password.
  const name = action.includes(":") ? "" : ` "${action}"`;
  const problem =
    action === "" ? "store needs an action" : `unknown action${name}${didYouMean(action, actions)}`;
  throw new UsageError(`${problem}; use copy or check (store --help shows examples)`);
}

function parseStoreArguments(args: readonly string[]) {
  const options = {
    schema: { type: "string" },
    config: { type: "string", short: "c" },
    data: { type: "string" },
    json: { type: "boolean" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const problem = explainFlagError(error as NodeJS.ErrnoException, Object.keys(options));
    throw new UsageError(`${problem}; store --help lists the flags`);
  }
}

/** Parses a file name, a PostgreSQL URL, or `env:NAME` for a URL that should not be visible in the list of processes. */
function parseLocation(
  store: string,
  schema: { schema?: string },
  { env, cwd }: Terminal,
): StoreLocation {
  const secret = store.startsWith("env:") ? parseEnvReference(store, env) : undefined;
  if (store.startsWith("env:") && secret?.value === undefined)
    throw new UsageError(`the environment variable ${store.slice("env:".length)} is not set`);
  const text = secret?.value ?? store;
  if (secret !== undefined && !text.includes("://"))
    throw new UsageError(`${store} must contain a URL that begins with postgres://`);
  if (/^postgres(?:ql)?:\/\//.test(text)) return { url: text, ...schema };
  if (/^[A-Z][A-Z0-9_]*$/.test(text) && Object.hasOwn(env, text))
    throw new UsageError(`${text} is an environment variable; did you mean env:${text}?`);
  if (/^\w+:\/\//.test(text))
    throw new UsageError("a store is a file, or a URL that begins with postgres://");
  return { path: resolve(cwd, text) };
}

/** Adds the bucket of the configuration if the location is its database and schema. */
function addBucket(
  location: StoreLocation,
  flags: { config?: string },
  terminal: Terminal,
): StoreLocation {
  if ("path" in location) return location;
  const { url, schema, s3 } = loadConfig({ config: flags.config }, terminal).config.store;
  const isConfigured = location.url === url && (location.schema ?? defaultSchema) === schema;
  return isConfigured && s3 !== undefined ? { ...location, s3 } : location;
}

function getConfiguredLocation(
  flags: { config?: string; data?: string },
  terminal: Terminal,
): StoreLocation {
  const { config } = loadConfig({ config: flags.config }, terminal);
  const { url, schema, s3 } = config.store;
  if (config.store.enabled && url !== undefined) return { url, schema, ...(s3 && { s3 }) };
  const path = resolveStorePath({ config, dataFolder: resolveDataFolder(flags.data, terminal) });
  if (path === undefined)
    throw new UsageError("the configuration has no store (store.enabled = false); name one");
  return { path };
}

async function runCopy(
  from: StoreLocation,
  to: StoreLocation,
  { stdout, stderr }: Terminal,
): Promise<number> {
  if (JSON.stringify(from) === JSON.stringify(to))
    throw new UsageError("store copy needs two different stores, got the same one twice");
  const bar = new ProgressBar(stderr);
  const onInterrupt = () => {
    bar.clear();
    stderr.write("Interrupted. Run the same command again to continue.\n");
    process.exit(exitCodeInterrupted);
  };
  process.once("SIGINT", onInterrupt);
  try {
    const { rows, missingBlobs, secrets, wasComplete } = await copyStore(from, to, (progress) =>
      bar.show(progress),
    );
    bar.clear();
    stdout.write(
      wasComplete
        ? `The copy is already complete: both stores contain the same ${rows.toLocaleString("en")} rows.\n`
        : `Copied ${rows.toLocaleString("en")} rows. Both stores contain the same data.\n`,
    );
    if (!secrets.includes(sealingKeySecret))
      stdout.write(
        "The key for sealed reasoning is not part of the source. Start the gateway on the copy with the same data folder (its file " +
          "seal.key) or the same server.sealing_key, or clients lose the sealed reasoning that they store.\n",
      );
    if (missingBlobs > 0)
      stderr.write(
        `${missingBlobs} attachment${missingBlobs === 1 ? " was" : "s were"} left out, because the files are missing; "store check" lists them\n`,
      );
    return 0;
  } finally {
    bar.clear();
    process.off("SIGINT", onInterrupt);
  }
}

async function runCheck(
  location: StoreLocation,
  json: boolean,
  { stdout, stderr }: Terminal,
): Promise<number> {
  const bar = new ProgressBar(stderr);
  const report = await checkStore(location, (table) => bar.showText(`checking ${table}`)).finally(
    () => bar.clear(),
  );
  stdout.write(json ? `${JSON.stringify(report)}\n` : formatReport(report));
  return report.problems.length === 0 ? 0 : 1;
}

function formatReport({ rows, problems }: StoreCheckReport): string {
  const counts = Object.entries(rows).filter(([, count]) => count > 0);
  const width = Math.max(...counts.map(([name]) => name.length));
  const lines = counts.map(
    ([name, count]) => `  ${name.padEnd(width)}  ${count.toLocaleString("en")}`,
  );
  const verdict =
    problems.length === 0
      ? "The store is consistent."
      : `${problems.length} problem${problems.length === 1 ? "" : "s"}; restore a backup, or keep using the rest:`;
  return `${[...lines, verdict, ...problems.map((problem) => `  - ${problem}`)].join("\n")}\n`;
}
