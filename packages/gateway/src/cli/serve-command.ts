import { flushCompileCache } from "node:module";
import { assertNever } from "@deltawire/tasks";
import { isUnspecified } from "../config/host-addresses.ts";
import type { Config } from "../config/config.ts";
import { resolveDataFolder } from "../config/config-paths.ts";
import { getConfigFile, type LoadedConfig } from "../config/load-config.ts";
import { logProblems, startGateway, type Gateway } from "../gateway.ts";
import { resolveStorePath } from "../configured-store.ts";
import { version } from "../version.ts";
import type { CliFlags } from "./parse-arguments.ts";
import { formatCommandLine, getCommandName, type Terminal } from "../terminal.ts";

/** How long closing the store and connections may take after open streams have finished. Until then, the gateway holds its tasks. */
const closeTimeoutMs = 15_000;

/** Serves until SIGINT or SIGTERM. */
export async function runServeCommand(
  loaded: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, env } = terminal;
  const { config } = loaded;
  for (const warning of config.warnings) stderr.write(`warning: ${warning}\n`);
  const gateway = await startListening(() =>
    startGateway({
      config,
      env,
      dataFolder: resolveDataFolder(flags.data, terminal),
      configFile: getConfigFile(loaded),
      hostEnvironment: terminal,
      logTarget: stderr,
      callerShowsProblems: !flags.json,
    }),
  );
  // A process that is killed does not write its compile cache, and the next start takes 950 instead of 350 ms of processor time.
  // Written once, before clients send requests: that takes 500 ms.
  flushCompileCache();
  // Signal handlers are installed before the banner is printed: a script may send a signal as soon as it reads the banner.
  const stopSignal = waitForStopSignal();
  const isBannerWritten = stdout.write(
    flags.json
      ? `${JSON.stringify(buildSummary(gateway, loaded))}\n`
      : formatBanner(gateway, loaded, flags, terminal),
  );
  if (isBannerWritten === false) {
    gateway.log.warn(
      { url: gateway.url, cause: stdout.failure?.message },
      "listening; could not write to standard output",
    );
    if (!flags.json) logProblems(gateway.log, gateway.storeProblem, gateway.mcpProblems);
  }
  await stopSignal;
  if (!flags.json)
    stderr.write(
      `Stopping when open streams have finished, after ${config.server.drainSeconds} s at the latest. Press Ctrl+C again to stop now.\n`,
    );
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  const forcedExit = setTimeout(
    () => {
      gateway.log.error(
        { pending: gateway.listClosing() },
        "the gateway could not stop in time and exits now; its tasks are resumed later, or by other gateways",
      );
      process.exit(1);
    },
    config.server.drainSeconds * 1000 + closeTimeoutMs,
  );
  await gateway.drain();
  clearTimeout(forcedExit);
  return 0;
}

/** Starts a gateway. Throws an error that explains why it cannot listen. */
export async function startListening(start: () => Promise<Gateway>): Promise<Gateway> {
  try {
    return await start();
  } catch (error) {
    const { code, port, address } = error as NodeJS.ErrnoException & {
      port?: number;
      address?: string;
    };
    const reason =
      code === "EADDRINUSE"
        ? `port ${port} is in use, perhaps by another gateway; stop it, or choose another port with --port (a second gateway also needs its own --data FOLDER)`
        : code === "EACCES" || code === "EADDRNOTAVAIL"
          ? `cannot listen on ${address}:${port} (${code}); change --host or --port`
          : undefined;
    if (reason === undefined) throw error;
    throw Object.assign(new Error(reason), { code });
  }
}

function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

function buildSummary({ url, config, storeProblem }: Gateway, { source }: LoadedConfig): object {
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

function describeStore({ store }: Config, path: string | undefined): string {
  if (path !== undefined) return path;
  if (!store.enabled || store.url === undefined) return "in memory";
  const { host, pathname } = new URL(store.url);
  return `postgres://${host}${pathname}, schema ${store.schema}`;
}

function formatBanner(
  { url, config, storeProblem, mcpProblems }: Gateway,
  loaded: LoadedConfig,
  cliFlags: CliFlags,
  terminal: Terminal,
): string {
  const command = getCommandName(terminal.env);
  const storePath = resolveStorePath({
    config,
    dataFolder: resolveDataFolder(cliFlags.data, terminal),
  });
  const upstreams = [...config.upstreams.values()].map(
    ({ name, speaks, detectsApi, profile }) =>
      `${name} (${detectsApi ? "auto" : speaks}${profile.name === "generic" ? "" : `, ${profile.name}`})`,
  );
  const models = [...config.models.keys()];
  const agents = [...config.agents.keys()];
  const { host, port, clients } = config.server;
  const reachableUrl = isUnspecified(host) ? url.replace(/\/\/[^/]*(?=:\d+$)/, "//127.0.0.1") : url;
  const { port: listeningPort } = new URL(url);
  const isPortConfigured =
    cliFlags.port === undefined && (loaded.source.kind === "file" || port === defaultPort);
  const launcherFlags = [
    ...formatFlag("--config", cliFlags.config),
    ...formatFlag("--data", cliFlags.data),
    ...formatFlag("--host", cliFlags.host),
    ...(isPortConfigured && port !== 0 ? [] : [`--port ${listeningPort}`]),
  ];
  const lines = [
    ["config", describeSource(loaded)],
    ["upstreams", upstreams.join(", ")],
    ...(models.length === 0 ? [] : [["models", models.join(", ")]]),
    ...(agents.length === 0 ? [] : [["agents", agents.join(", ")]]),
    ...(clients.length === 0
      ? []
      : [["auth", `${clients.length} client token${clients.length === 1 ? "" : "s"}`]]),
    [
      "Codex",
      `${formatCommandLine(command, [...launcherFlags, "codex"].join(" "))}, or copy the configuration from the page`,
    ],
    ["Claude", [command, ...launcherFlags, "claude"].join(" ")],
    ["page", `${reachableUrl}/`],
    ["API", `${reachableUrl}/v1`],
    ...(storeProblem === undefined
      ? [
          ["tasks", `${reachableUrl}/api/tasks`],
          ["chats", `${reachableUrl}/api/chats`],
          ["store", describeStore(config, storePath)],
        ]
      : [["store", "unavailable, see below"]]),
  ];
  const table = lines.map(([name = "", text = ""]) => `  ${name.padEnd(10)} ${text}\n`).join("");
  const problem =
    storeProblem === undefined ? "" : `\nChats and tasks are unavailable: ${storeProblem}\n`;
  const mcpWarnings = mcpProblems.map((mcpProblem) => `\nWarning: ${mcpProblem}.\n`).join("");
  return `Deltawire ${version} is listening on ${url}\n${table}${problem}${mcpWarnings}`;
}

const defaultPort = 4141;

/** Quotes the value for a shell if needed. */
function formatFlag(flag: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  const quoted = /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
  return [`${flag} ${quoted}`];
}

function describeSource({ source, config }: LoadedConfig): string {
  switch (source.kind) {
    case "file":
      return config.upstreams.size === 0
        ? `${source.path} (no upstreams; the built-in demo model answers)`
        : source.path;
    case "flags":
      return "the command line";
    case "environment":
      return `environment variables ${source.variables.join(", ")}`;
    case "nothing":
      return "none; the built-in demo model answers (set an API key such as OPENAI_API_KEY, or write deltawire.toml)";
    default:
      return assertNever(source);
  }
}
