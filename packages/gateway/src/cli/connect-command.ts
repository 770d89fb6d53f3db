import { didYouMean } from "@deltawire/tasks";
import { connectableAgents, findCodingAgent } from "../coding-agents/agents.ts";
import type { ConnectableAgent } from "../coding-agents/coding-agent.ts";
import type { GatewayConnection } from "../coding-agents/connection.ts";
import { warnAboutModel } from "../coding-agents/launch-agent.ts";
import { isUnspecified } from "../config/host-addresses.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { getVariable } from "../config/secret.ts";
import { readIfExists } from "../migrate/config-files.ts";
import { formatDiff } from "../migrate/diff.ts";
import { planSettings, writeSettings, type SettingsChange } from "../migrate/plan-settings.ts";
import { isExpectedError, toDisplayPath } from "../migrate/prepare-migration.ts";
import { formatCommandLine, getCommandName, type Terminal } from "../terminal.ts";
import { paintDiff } from "./paint-diff.ts";
import { UsageError, type CliFlags, type ModelFlags } from "./parse-arguments.ts";
import { withGateway, type ReachableGateway } from "./reachable-gateway.ts";
import { connectModels } from "./run-agent-command.ts";

interface ConnectCommand {
  readonly agent: string | undefined;
  readonly flags: CliFlags;
  readonly modelFlags: ModelFlags;
  readonly write: boolean;
}

/** Shows the settings that connect an agent permanently, or writes them. Returns the exit code: 1 if a file cannot be edited. */
export async function runConnectCommand(
  loaded: LoadedConfig,
  command: ConnectCommand,
  terminal: Terminal,
): Promise<number> {
  if (command.agent === undefined) {
    const rows = connectableAgents.map(({ id, name }) => `  ${id.padEnd(10)}${name}\n`);
    terminal.stdout.write(`Agents:\n${rows.join("")}`);
    return 0;
  }
  const agent = findAgent(command.agent);
  // Its settings name the port, but a gateway that only lists the models needs none.
  const flags = { ...command.flags, port: undefined };
  return withGateway(loaded, flags, terminal, async (gateway) => {
    const connection = await connectModels(gateway, command.modelFlags, terminal);
    if (command.modelFlags.model !== undefined)
      warnAboutModel(findCodingAgent(agent.id) ?? agent, connection, terminal);
    const permanent = {
      ...connection,
      url: gateway.isRunning ? gateway.url : getConfiguredUrl(loaded),
      token: choosePermanentToken(gateway, command, agent, terminal),
    };
    try {
      connect(agent, permanent, gateway, command, terminal);
      return 0;
    } catch (error) {
      if (!isExpectedError(error) || error instanceof UsageError) throw error;
      if (command.flags.json)
        terminal.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
      else terminal.stderr.write(`${error.message}\n`);
      return 1;
    }
  });
}

function findAgent(id: string): ConnectableAgent {
  const agent = connectableAgents.find((candidate) => candidate.id === id);
  if (agent !== undefined) return agent;
  const ids = connectableAgents.map((candidate) => candidate.id);
  throw new UsageError(
    `unknown agent "${id}"${didYouMean(id, ids)}; connect knows ${ids.join(", ")}; any other program can be started with \`run\``,
  );
}

/** A file outlives the gateway, so it gets only a token that the user has chosen for it. */
function choosePermanentToken(
  { isTokenRequired, token }: ReachableGateway,
  { write }: ConnectCommand,
  agent: ConnectableAgent,
  { env, stderr }: Terminal,
): string {
  if (!isTokenRequired) return token;
  const chosenToken = getVariable("DELTAWIRE_TOKEN", env);
  if (chosenToken !== undefined) return chosenToken;
  const instruction = `set DELTAWIRE_TOKEN to the one that ${agent.name} should use, for example an access key from \`${getCommandName(env)} keys create ${agent.id} --scopes models\``;
  if (write) throw new UsageError(`this gateway requires a token: ${instruction}`);
  stderr.write(`warning: this gateway requires a token: before --write, ${instruction}\n`);
  return "YOUR TOKEN";
}

function getConfiguredUrl({ config: { server } }: LoadedConfig): string {
  const host = isUnspecified(server.host) ? "127.0.0.1" : server.host;
  return `http://${host.includes(":") ? `[${host}]` : host}:${server.port === 0 ? defaultPort : server.port}`;
}

const defaultPort = 4141;

function connect(
  agent: ConnectableAgent,
  connection: GatewayConnection,
  { isRunning }: ReachableGateway,
  { flags, write }: ConnectCommand,
  terminal: Terminal,
): void {
  const files = agent.listSettings(connection, terminal);
  const changes = planSettings(files, terminal);
  const notes = files.flatMap(({ path }) => {
    const text = changes.find(({ file }) => file === path)?.after ?? readIfExists(path) ?? "";
    return agent.checkSettings?.(text) ?? [];
  });
  const backups = write ? writeSettings(changes) : [];
  const isWritten = write && changes.length > 0;
  if (flags.json) {
    const diffs = changes.map(({ file, lines }) => ({ file, diff: formatDiff(lines) }));
    const result = { changes: diffs, notes, written: isWritten, backups };
    terminal.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const paths = files.map(({ path }) => toDisplayPath(path, terminal)).join(" and ");
  const output = [
    ...changes.flatMap(({ lines }) => [...paintDiff(lines, terminal), ""]),
    ...(notes.length === 0 ? [] : ["Note:", ...notes.map((note) => `  - ${note}`), ""]),
    ...formatResult(changes, backups, { paths, isWritten, terminal }),
    ...(isRunning
      ? []
      : [
          `${agent.name} needs the gateway to run: ${formatCommandLine(getCommandName(terminal.env), "")}`,
        ]),
  ];
  terminal.stdout.write(`${output.join("\n").trimEnd()}\n`);
}

function formatResult(
  changes: readonly SettingsChange[],
  backups: readonly string[],
  { paths, isWritten, terminal }: { paths: string; isWritten: boolean; terminal: Terminal },
): string[] {
  if (changes.length === 0) return [`Nothing to do: ${paths} already contains these settings.`];
  if (!isWritten) return ["Nothing has been written. To apply the changes, add --write."];
  return [
    ...changes.map(({ displayPath }) => `Written: ${displayPath}`),
    ...backups.map((backup) => `Backup: ${toDisplayPath(backup, terminal)}`),
  ];
}
