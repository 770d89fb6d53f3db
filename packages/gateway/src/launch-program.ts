import { spawn } from "node:child_process";
import { constants } from "node:os";
import { posix, win32 } from "node:path";
import type { EnvironmentVariables } from "./config/secret.ts";

/** A program that Node can spawn, with the arguments that come before those of the user. */
export interface LaunchCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** The exit code of shells for a missing program. */
export const exitCodeNotFound = 127;

/**
 * Returns the command that runs a program file. Node cannot spawn scripts or npm's `.cmd` files, so it runs the script, or the file
 * that the `.cmd` file would start: `packageFile`, relative to `node_modules`.
 */
export function toLaunchCommand(
  file: string,
  platform: NodeJS.Platform,
  packageFile: string | undefined,
): LaunchCommand {
  if (isScript(file)) return { file: process.execPath, args: [file] };
  if (packageFile === undefined || !/\.cmd$/i.test(file)) return { file, args: [] };
  const path = platform === "win32" ? win32 : posix;
  const target = path.join(path.dirname(file), "node_modules", ...packageFile.split("/"));
  return isScript(target) ? { file: process.execPath, args: [target] } : { file: target, args: [] };
}

function isScript(file: string): boolean {
  return /\.[cm]?js$/i.test(file);
}

/** Runs a program in the terminal of this process, forwards signals to it, and returns its exit code. */
export function runProgram(
  { file, args }: LaunchCommand,
  { cwd, env }: { cwd: string; env: EnvironmentVariables },
): Promise<number> {
  const child = spawn(file, args, { stdio: "inherit", cwd, env: { ...env } });
  const forward = (signal: NodeJS.Signals) => {
    // The terminal sends Ctrl+C to the program too. The handler only keeps this process, and thus the gateway, alive.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of forwardedSignals) process.on(signal, forward);
  const exitCode = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
  return exitCode.finally(() => {
    for (const signal of forwardedSignals) process.off(signal, forward);
  });
}

const forwardedSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies NodeJS.Signals[];
