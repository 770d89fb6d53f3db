import { didYouMean } from "@deltawire/tasks";
import { connectableAgents } from "../coding-agents/agents.ts";
import { chooseModel } from "../coding-agents/choose-model.ts";
import type { ConnectableAgent } from "../coding-agents/coding-agent.ts";
import type { ConnectedModel, GatewayConnection } from "../coding-agents/connection.ts";
import { placeholderToken } from "../coding-agents/connection.ts";
import type { HostEnvironment } from "../config/config-paths.ts";
import { GatewayError } from "../gateway-error.ts";
import { formatDiff } from "../migrate/diff.ts";
import { formatSettings, planSettings } from "../migrate/plan-settings.ts";
import { isExpectedError, prepareMigration, toDisplayPath } from "../migrate/prepare-migration.ts";
import { getCommandName } from "../terminal.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { getPublicUrl, loadModelList, type StatusRouteServices } from "./serve-status.ts";

export interface ConnectRouteServices extends StatusRouteServices {
  /** Used to find the user's settings files. Undefined: they are not read. */
  hostEnvironment: HostEnvironment | undefined;
  isTokenRequired: () => boolean;
}

/** Sends the settings that connect a coding agent, and a preview of what `connect` would change. Writes no files. */
export async function serveConnect(
  context: RequestContext,
  services: ConnectRouteServices,
): Promise<void> {
  const agent = findAgent(context.url.searchParams.get("agent") ?? "codex");
  const model = await findModel(context.url.searchParams.get("model") ?? undefined, services);
  const connection: GatewayConnection = {
    url: getPublicUrl(context, services),
    token: services.isTokenRequired() ? "YOUR TOKEN" : placeholderToken,
    model,
    smallModel: model,
    models: [model],
  };
  const host = services.hostEnvironment ?? unknownHost;
  const modelFlag = `-m ${quoteShellWord(model.id)}`;
  sendJson(context.response, 200, {
    agents: connectableAgents.map(({ id, name }) => ({ id, name })),
    agent: agent.id,
    url: connection.url,
    model: model.id,
    token_required: services.isTokenRequired(),
    command: formatCommand(services, agent.formatRunCommand(modelFlag)),
    files: agent.listSettings(connection, host).map((file) => ({
      file: toDisplayPath(file.path, host),
      text: formatSettings(file),
    })),
    connect_command: formatCommand(services, `connect ${agent.id} ${modelFlag} --write`),
    settings: previewSettings(agent, connection, services),
    ...(agent.id === "codex" ? { migration: previewMigration(services) } : {}),
  });
}

/** Only for the paths of files that are not read. */
const unknownHost: HostEnvironment = {
  cwd: "/unknown",
  home: "/~",
  env: {},
  platform: "linux",
};

function findAgent(id: string): ConnectableAgent {
  const agent = connectableAgents.find((candidate) => candidate.id === id);
  if (agent !== undefined) return agent;
  const ids = connectableAgents.map((candidate) => candidate.id);
  throw new GatewayError(
    "invalid_request",
    `agent must be one of ${ids.join(", ")}, got ${JSON.stringify(id)}${didYouMean(id, ids)}`,
    { param: "agent" },
  );
}

/** A name that is not listed is used as it is: the page shows what the user chose. */
async function findModel(
  name: string | undefined,
  services: ConnectRouteServices,
): Promise<ConnectedModel> {
  const choice = await chooseModel(name, async (requestedName) => {
    const { list } = await loadModelList(services, requestedName);
    return list;
  });
  if (choice.ok) return choice.model;
  return {
    id: name ?? "MODEL",
    isChatModel: true,
    contextWindow: undefined,
    canReason: false,
    hasVision: false,
  };
}

/** Returns a command for this gateway: `deltawire …`, or `npm start -- …` if npm started the gateway. */
function formatCommand({ hostEnvironment, getUrl }: ConnectRouteServices, args: string): string {
  const { port } = new URL(getUrl());
  const name = getCommandName(hostEnvironment?.env ?? {});
  const portFlag = port === defaultPort ? [] : ["--port", port];
  return [name, ...portFlag, args].join(" ");
}

const defaultPort = "4141";

function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns what `connect` would change, as diffs with each secret replaced by "…". */
function previewSettings(
  agent: ConnectableAgent,
  connection: GatewayConnection,
  { hostEnvironment }: ConnectRouteServices,
): object {
  if (hostEnvironment === undefined) return { status: "unknown" };
  try {
    const changes = planSettings(agent.listSettings(connection, hostEnvironment), hostEnvironment);
    if (changes.length === 0) return { status: "not_needed" };
    const diffs = changes.map(({ displayPath, lines }) => ({
      file: displayPath,
      diff: formatDiff(lines),
    }));
    const notes = changes.flatMap(({ after }) => agent.checkSettings?.(after) ?? []);
    return { status: "possible", changes: diffs, notes };
  } catch (error) {
    if (!isExpectedError(error)) throw error;
    return { status: "impossible", reason: error.message };
  }
}

/** Returns what `migrate` would change, as diffs with each secret replaced by "…". */
function previewMigration({ hostEnvironment, getUrl }: ConnectRouteServices): object {
  if (hostEnvironment === undefined) return { status: "unknown" };
  const port = Number(new URL(getUrl()).port);
  try {
    const options = { file: undefined, gatewayFile: undefined, port };
    const { plan, changes, notes, codexFile } = prepareMigration(options, hostEnvironment);
    const file = toDisplayPath(codexFile, hostEnvironment);
    if (plan.isEmpty) return { status: "not_needed", file, notes };
    const diffs = changes.map((change) => ({
      file: toDisplayPath(change.file, hostEnvironment),
      diff: formatDiff(change.lines),
    }));
    return { status: "possible", file, changes: diffs, notes, unset: plan.unsetVariables };
  } catch (error) {
    if (!isExpectedError(error)) throw error;
    return { status: "impossible", reason: error.message };
  }
}
