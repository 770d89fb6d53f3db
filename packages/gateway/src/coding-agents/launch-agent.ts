import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutProxyForLoopback } from "../config/loopback-proxy.ts";
import { findProgram } from "../find-program.ts";
import { exitCodeNotFound, runProgram, toLaunchCommand } from "../launch-program.ts";
import type { Terminal } from "../terminal.ts";
import { findCodingAgent } from "./agents.ts";
import type { AgentLaunch, CodingAgent, LaunchFlag } from "./coding-agent.ts";
import type { GatewayConnection } from "./connection.ts";
import { buildGenericLaunch } from "./generic-program.ts";

interface LaunchOptions {
  /** Name or path of the program. */
  readonly program: string;
  /** The arguments that the user typed. */
  readonly args: readonly string[];
  readonly connection: GatewayConnection;
  readonly terminal: Pick<Terminal, "cwd" | "env" | "platform" | "stderr">;
}

/** Runs a coding agent, or another program, against a running gateway and returns its exit code. No file of the user is changed. */
export async function launchAgent(options: LaunchOptions): Promise<number> {
  const { program, args, connection, terminal } = options;
  const { cwd, env, platform } = terminal;
  const agent = findCodingAgent(program);
  const file = findInstalledProgram(program, terminal);
  if (file === undefined) {
    terminal.stderr.write(`${describeMissingProgram(program)}\n`);
    return exitCodeNotFound;
  }
  if (agent !== undefined) warnAboutModel(agent, connection, terminal);
  const folder = await mkdtemp(join(tmpdir(), "deltawire-"));
  try {
    const launch = agent?.buildLaunch(connection, folder) ?? buildGenericLaunch(connection);
    for (const [name, text] of Object.entries(launch.files ?? {}))
      await writeFile(join(folder, name), text, { mode: 0o600 });
    const isSubcommand = agent?.subcommands.includes(args[0] ?? "") === true;
    const flags = isSubcommand ? [] : buildFlags(launch.flags ?? [], args);
    const command = toLaunchCommand(file, platform, agent?.packageFile);
    return await runProgram(
      { file: command.file, args: [...command.args, ...flags, ...args] },
      { cwd, env: buildEnvironment(withoutProxyForLoopback(env), launch) },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Finds a program like a shell does: by its path, else on the PATH. */
export function findInstalledProgram(
  program: string,
  { cwd, env, platform }: Pick<Terminal, "cwd" | "env" | "platform">,
): string | undefined {
  return findProgram(program, { env, platform, cwd, extensions: [".exe", ".cmd"] });
}

export function describeMissingProgram(program: string): string {
  const agent = findCodingAgent(program);
  return agent === undefined
    ? `program not found: ${program}`
    : `${agent.name} is not installed, or not on the PATH. Install it with: ${agent.installCommand}`;
}

/** Warns about a model that is no chat model, or has a context window that is too small for the agent. */
export function warnAboutModel(
  { name, minContextWindow = 0 }: Pick<CodingAgent, "name"> & Partial<CodingAgent>,
  { model: { id, isChatModel, contextWindow = Infinity } }: GatewayConnection,
  { stderr }: Pick<Terminal, "stderr">,
): void {
  if (!isChatModel) stderr.write(`warning: "${id}" is not a chat model, and ${name} needs one\n`);
  if (contextWindow < minContextWindow)
    stderr.write(
      `warning: "${id}" has a context window of ${contextWindow} tokens, and ${name} needs at least ${minContextWindow}; if the model has a larger one, set context_window in [models]\n`,
    );
}

/** Returns the flags that the user has not set. */
function buildFlags(flags: readonly LaunchFlag[], args: readonly string[]): string[] {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  const isSet = (name: string) =>
    options.some((argument) => argument === name || argument.startsWith(`${name}=`));
  return flags
    .filter(({ names, isRepeatable }) => isRepeatable === true || !names.some(isSet))
    .flatMap(({ names: [name], value }) => [name, value]);
}

function buildEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { variables }: AgentLaunch,
): Record<string, string> {
  const merged = Object.entries({ ...env, ...variables });
  return Object.fromEntries(
    merged.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
