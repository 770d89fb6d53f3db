import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Terminal } from "../terminal.ts";
import type { Environment } from "../config/secret.ts";
import { codexConfigFile, readIfThere } from "../migrate/files.ts";
import { chatProvidersIn, codexArguments, tokenVariable } from "./arguments.ts";
import { findCodex } from "./find-codex.ts";
import { withoutProxyForLoopback } from "../config/loopback-proxy.ts";

export interface CodexRun {
  /** The user's own, as typed. */
  readonly args: readonly string[];
  readonly gateway: {
    /** Without `/v1`. */
    readonly url: string;
    readonly token: string | undefined;
    readonly model: string | undefined;
  };
  readonly terminal: Pick<Terminal, "cwd" | "env" | "home" | "platform" | "stderr">;
}

/** Runs the installed Codex on a gateway that is there already, and returns its exit code. No file is changed. */
export async function codexCommand({ args, gateway, terminal }: CodexRun): Promise<number> {
  const { cwd, env, home, platform, stderr } = terminal;
  const codex = findCodex(env, platform);
  if ("problem" in codex) {
    stderr.write(`${codex.problem}\n`);
    return notFound;
  }
  const chatProviders = chatProvidersIn(codexConfig(env, home));
  if (chatProviders.length > 0)
    stderr.write(
      `Codex refuses wire_api = "chat" (${chatProviders.join(", ")}) and is told otherwise for this run; the command migrate mends its configuration.\n`,
    );
  const { url, token, model } = gateway;
  const all = codexArguments({ baseUrl: `${url}/v1`, model, chatProviders, args });
  const childEnv = { ...withoutProxyForLoopback(env), [tokenVariable]: token ?? "local" };
  return run(codex.file, [...codex.args, ...all], cwd, childEnv);
}

function codexConfig(env: Environment, home: string): string {
  try {
    return readIfThere(codexConfigFile(env, home)) ?? "";
  } catch {
    return ""; // Codex will say why it cannot be read
  }
}

/** What shells return for a program that is not there. */
const notFound = 127;

function run(
  file: string,
  args: readonly string[],
  cwd: string,
  env: Environment,
): Promise<number> {
  const child = spawn(file, args, { stdio: "inherit", cwd, env: { ...env } });
  const forward = (signal: NodeJS.Signals) => {
    // A key typed at a terminal has reached Codex already; here it only must not end the gateway under it.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, forward);
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  return ended.finally(() => {
    for (const signal of forwarded) process.off(signal, forward);
  });
}

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies NodeJS.Signals[];
