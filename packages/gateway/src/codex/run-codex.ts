import { formatCommandLine, getCommandName, type Terminal } from "../terminal.ts";
import type { EnvironmentVariables } from "../config/secret.ts";
import { getCodexConfigPath, readIfExists } from "../migrate/config-files.ts";
import { listChatProviders, buildCodexArguments, tokenVariable } from "./build-arguments.ts";
import { exitCodeNotFound, runProgram } from "../launch-program.ts";
import { findCodex } from "./find-codex.ts";
import { withoutProxyForLoopback } from "../config/loopback-proxy.ts";

export interface RunCodexOptions {
  /** The arguments that the user typed. */
  readonly args: readonly string[];
  readonly gateway: {
    /** Without `/v1`. */
    readonly url: string;
    readonly token: string | undefined;
    readonly model: string | undefined;
  };
  readonly terminal: Pick<Terminal, "cwd" | "env" | "home" | "platform" | "stderr">;
}

/** Runs the installed Codex against a running gateway and returns its exit code. No file is changed. */
export async function runCodex({ args, gateway, terminal }: RunCodexOptions): Promise<number> {
  const { cwd, env, home, platform, stderr } = terminal;
  const codex = findCodex(env, platform);
  if ("problem" in codex) {
    stderr.write(`${codex.problem}\n`);
    return exitCodeNotFound;
  }
  const chatProviders = listChatProviders(readCodexConfig(env, home));
  if (chatProviders.length > 0)
    stderr.write(
      `Codex no longer supports wire_api = "chat"; it is overridden for this run in ${chatProviders.join(", ")}. To update your Codex configuration, run: ${formatCommandLine(getCommandName(env), "migrate")}\n`,
    );
  const { url, token, model } = gateway;
  const allArguments = buildCodexArguments({
    baseUrl: `${url}/v1`,
    model,
    chatProviders,
    userArguments: args,
  });
  const childEnv = { ...withoutProxyForLoopback(env), [tokenVariable]: token ?? "local" };
  const command = { file: codex.file, args: [...codex.args, ...allArguments] };
  return runProgram(command, { cwd, env: childEnv });
}

function readCodexConfig(env: EnvironmentVariables, home: string): string {
  try {
    return readIfExists(getCodexConfigPath(env, home)) ?? "";
  } catch {
    return ""; // Codex itself reports why the file cannot be read
  }
}
