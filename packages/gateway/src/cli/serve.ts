import { isUnspecified } from "../config/addresses.ts";
import { dataFolderOf } from "../config/find.ts";
import { configFileOf, type LoadedConfig } from "../config/load.ts";
import { logProblems, startGateway, type Gateway } from "../gateway.ts";
import { storeFile } from "../start-tasks.ts";
import { unreachable } from "../unreachable.ts";
import { version } from "../version.ts";
import type { Flags } from "./arguments.ts";
import { commandName, type Terminal } from "../terminal.ts";

/** Serves until it is told to stop. */
export async function serve(
  loaded: LoadedConfig,
  flags: Flags,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, env } = terminal;
  const { config } = loaded;
  for (const warning of config.warnings) stderr.write(`warning: ${warning}\n`);
  const gateway = await listening(() =>
    startGateway({
      config,
      env,
      dataFolder: dataFolderOf(flags.data, terminal),
      configFile: configFileOf(loaded),
      world: terminal,
      logTo: stderr,
      showsProblems: !flags.json,
    }),
  );
  // Whoever reads the greeting may tell it to stop at once.
  const stopped = stopSignal();
  const isGreeted = stdout.write(
    flags.json
      ? `${JSON.stringify(summary(gateway, loaded))}\n`
      : greeting(gateway, loaded, flags, terminal),
  );
  if (isGreeted === false) {
    gateway.log.warn(
      { url: gateway.url, cause: stdout.failure?.message },
      "listening; standard output cannot be written",
    );
    if (!flags.json) logProblems(gateway.log, gateway.storeProblem, gateway.mcpProblems);
  }
  await stopped;
  if (!flags.json) stderr.write("Stopping: open streams may finish. Once more to stop at once.\n");
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  await gateway.drain();
  return 0;
}

async function listening(start: () => Promise<Gateway>): Promise<Gateway> {
  try {
    return await start();
  } catch (error) {
    const { code, port, address } = error as NodeJS.ErrnoException & {
      port?: number;
      address?: string;
    };
    const reason =
      code === "EADDRINUSE"
        ? `port ${port} is in use, perhaps by another gateway; stop it, or choose another with --port (a second gateway needs its own data, too: --data FOLDER)`
        : code === "EACCES" || code === "EADDRNOTAVAIL"
          ? `cannot listen on ${address}:${port} (${code}); choose others with --host and --port`
          : undefined;
    if (reason === undefined) throw error;
    throw Object.assign(new Error(reason), { code });
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

function summary({ url, config, storeProblem }: Gateway, { source }: LoadedConfig): object {
  return {
    url,
    ...(storeProblem === undefined ? {} : { store_problem: storeProblem }),
    version,
    source,
    upstreams: [...config.upstreams.keys()],
    models: [...config.models.keys()],
    agents: [...config.agents.keys()],
  };
}

function greeting(
  { url, config, storeProblem, mcpProblems }: Gateway,
  loaded: LoadedConfig,
  given: Flags,
  terminal: Terminal,
): string {
  const command = commandName(terminal.env);
  const kept = storeFile({ config, dataFolder: dataFolderOf(given.data, terminal) });
  const upstreams = [...config.upstreams.values()].map(
    ({ name, speaks, profile }) =>
      `${name} (${speaks}${profile.name === "generic" ? "" : `, ${profile.name}`})`,
  );
  const names = [...config.models.keys()];
  const agents = [...config.agents.keys()];
  const { host, port, clients } = config.server;
  const reached = isUnspecified(host) ? url.replace(/\/\/[^/]*(?=:\d+$)/, "//127.0.0.1") : url;
  const { port: heardOn } = new URL(url);
  const isFound = given.port === undefined && (loaded.source.kind === "file" || port === usualPort);
  const flags = [
    ...flagged("--config", given.config),
    ...flagged("--data", given.data),
    ...flagged("--host", given.host),
    ...(isFound && port !== 0 ? [] : [`--port ${heardOn}`]),
  ];
  const lines = [
    ["from", whereFrom(loaded)],
    ["upstreams", upstreams.join(", ")],
    ...(names.length === 0 ? [] : [["models", names.join(", ")]]),
    ...(agents.length === 0 ? [] : [["agents", agents.join(", ")]]),
    ...(clients.length === 0 ? [] : [["tokens", `one of ${clients.length} is asked for`]]),
    ["Codex", `${[command, ...flags, "codex"].join(" ")}, or paste the block that the page shows`],
    ["page", `${reached}/`],
    ["API", `${reached}/v1`],
    ...(storeProblem === undefined
      ? [
          ["tasks", `${reached}/api/tasks`],
          ["chats", `${reached}/api/chats`],
          ["kept", keptIn(kept)],
        ]
      : [["kept", "nothing for now, see below"]]),
  ];
  const table = lines.map(([name = "", text = ""]) => `  ${name.padEnd(10)} ${text}\n`).join("");
  const problem = storeProblem === undefined ? "" : `\nNo chats and no tasks: ${storeProblem}\n`;
  const missing = mcpProblems.map((each) => `\nWarning: ${each}.\n`).join("");
  return `Deltawire ${version} is listening on ${url}\n${table}${problem}${missing}`;
}

function keptIn(file: string | undefined): string {
  return file === undefined ? "until it stops" : `in ${file}`;
}

const usualPort = 4141;

/** As a shell takes it. */
function flagged(flag: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  const word = /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
  return [`${flag} ${word}`];
}

function whereFrom({ source, config }: LoadedConfig): string {
  switch (source.kind) {
    case "file":
      return config.upstreams.size === 0
        ? `${source.path}, which names no upstream, so the built-in demo model answers`
        : source.path;
    case "flags":
      return "the command line";
    case "environment":
      return `keys in the environment: ${source.variables.join(", ")}`;
    case "nothing":
      return "nothing configured, so the built-in demo model answers (docs/configuration.md)";
    default:
      return unreachable(source);
  }
}
