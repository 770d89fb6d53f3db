import { claudeCode } from "../coding-agents/claude-code.ts";
import { chooseModel, listConnectedModels } from "../coding-agents/choose-model.ts";
import type { ConnectedModel, GatewayConnection } from "../coding-agents/connection.ts";
import {
  describeMissingProgram,
  findInstalledProgram,
  launchAgent,
} from "../coding-agents/launch-agent.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { getVariable } from "../config/secret.ts";
import { exitCodeNotFound } from "../launch-program.ts";
import { getCommandName, type Terminal } from "../terminal.ts";
import { runCodexCommand } from "./codex-command.ts";
import { extractModelFlags, splitProgram } from "./model-flags.ts";
import { UsageError, type CliFlags, type ModelFlags } from "./parse-arguments.ts";
import { withGateway, type ReachableGateway } from "./reachable-gateway.ts";

interface AgentCommand {
  readonly args: readonly string[];
  readonly flags: CliFlags;
  readonly modelFlags: ModelFlags;
}

/** Runs Claude Code. `--model` and `--small-model` may be anywhere among its arguments, unless these start with `--`. */
export function runClaudeCommand(
  loaded: LoadedConfig,
  { args, flags, modelFlags }: AgentCommand,
  terminal: Terminal,
): Promise<number> {
  const extracted =
    args[0] === "--" ? { modelFlags: {}, rest: args.slice(1) } : extractModelFlags(args);
  const command = { flags, modelFlags: { ...modelFlags, ...extracted.modelFlags } };
  const program = claudeCode.programs[0] ?? claudeCode.id;
  return runProgramOnGateway(loaded, { ...command, program, args: extracted.rest }, terminal);
}

/** Names that Claude Code maps to ANTHROPIC_DEFAULT_*_MODEL. Passed on unless the gateway has a model of that name. */
const claudeModelNames = ["default", "best", "opus", "sonnet", "haiku", "fable", "opusplan"];

/** Runs any program: `run [-m NAME] [--] PROGRAM [ARGUMENT ...]`. */
export function runRunCommand(
  loaded: LoadedConfig,
  { args, flags, modelFlags }: AgentCommand,
  terminal: Terminal,
): Promise<number> {
  const { own, program, rest } = splitProgram(args);
  if (program === undefined)
    throw new UsageError("run needs a program, for example: run -- pi; run --help shows more");
  const extracted = extractModelFlags(own);
  const [unknownFlag] = extracted.rest;
  if (unknownFlag !== undefined)
    throw new UsageError(
      `unknown flag ${unknownFlag}; run --help lists the flags, and flags of the program follow its name`,
    );
  const chosen = { ...modelFlags, ...extracted.modelFlags };
  if (program === "codex") {
    const modelArguments = chosen.model === undefined ? [] : ["-m", chosen.model];
    return runCodexCommand(loaded, { args: [...modelArguments, ...rest], flags }, terminal);
  }
  return runProgramOnGateway(loaded, { program, args: rest, flags, modelFlags: chosen }, terminal);
}

interface ProgramCommand extends AgentCommand {
  readonly program: string;
}

async function runProgramOnGateway(
  loaded: LoadedConfig,
  { program, args, flags, modelFlags }: ProgramCommand,
  terminal: Terminal,
): Promise<number> {
  // Before a gateway is started.
  if (findInstalledProgram(program, terminal) === undefined) {
    terminal.stderr.write(`${describeMissingProgram(program)}\n`);
    return exitCodeNotFound;
  }
  return withGateway(loaded, flags, terminal, async (gateway) => {
    const { model = "", ...otherFlags } = modelFlags;
    const isPassedOn =
      program === "claude" &&
      claudeModelNames.includes(model) &&
      !(await gateway.listModels()).data.some(({ id }) => id === model);
    const connection = await connectModels(gateway, isPassedOn ? otherFlags : modelFlags, terminal);
    warnAboutLocalToken(gateway, loaded, terminal);
    const allArguments = isPassedOn ? ["--model", model, ...args] : args;
    return launchAgent({ program, args: allArguments, connection, terminal });
  });
}

/** Throws a UsageError if a model is unknown. */
export async function connectModels(
  { url, token, listModels, explainUnknownModel }: ReachableGateway,
  { model: modelName, smallModel: smallModelName }: ModelFlags,
  terminal: Terminal,
): Promise<GatewayConnection> {
  const choose = async (name: string | undefined): Promise<ConnectedModel> => {
    const choice = await chooseModel(name, listModels);
    if (!choice.ok) {
      const reason = name === undefined ? "" : `${await explainUnknownModel(name)}\n`;
      throw new UsageError(
        `${reason}${choice.message}; to list all, run: ${getCommandName(terminal.env)} models`,
      );
    }
    if (choice.warning !== undefined) terminal.stderr.write(`warning: ${choice.warning}\n`);
    return choice.model;
  };
  const model = await choose(modelName);
  const smallModel = smallModelName === undefined ? model : await choose(smallModelName);
  const models = listConnectedModels(await listModels(), [model, smallModel]);
  return { url, token, model, smallModel, models };
}

/** The token of this machine may administer the gateway, and its usage counts for no access key. */
function warnAboutLocalToken(
  { isTokenRequired }: ReachableGateway,
  { config }: LoadedConfig,
  { stderr, env }: Terminal,
): void {
  const isLocalToken =
    isTokenRequired &&
    config.server.clients.length === 0 &&
    getVariable("DELTAWIRE_TOKEN", env) === undefined;
  if (isLocalToken)
    stderr.write(
      `warning: this gateway has access keys, and the program gets the token of this machine, which no limit applies to; to use a key, create one with \`${getCommandName(env)} keys create NAME --scopes models\` and set DELTAWIRE_TOKEN to it\n`,
    );
}
