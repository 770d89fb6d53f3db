import { runCli } from "../src/cli/run-cli.ts";
import { temporaryFolder } from "./deltawire-process.ts";

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  toml?: string;
  env?: Record<string, string>;
  /** The working directory and home; default: a temporary folder with `toml`. */
  cwd?: string;
}

/** Runs the command in this process. */
export async function runCommand(
  args: string[],
  { toml, env = {}, cwd = temporaryFolder(toml) }: CommandOptions = {},
): Promise<CommandResult> {
  const out = { stdout: "", stderr: "" };
  const code = await runCli(args, {
    cwd,
    env,
    home: cwd,
    platform: "linux",
    stdout: { write: (text) => void (out.stdout += text) },
    stderr: { write: (text) => void (out.stderr += text) },
  });
  return { code, ...out };
}
