import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

const mainFile = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const children = new Set<ChildProcess>();
const folders: string[] = [];

afterEach(async () => {
  // A process that has not exited yet may write to its folder while that is removed.
  await Promise.all([...children].map(killProcess));
  children.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

export interface DeltawireProcess {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
  /** Its URL, once it is printed. Rejects if the process ends before. */
  url: Promise<string>;
}

/** Creates a folder for a configuration, a home and data, which is removed after the test. */
export function temporaryFolder(toml?: string, name = "deltawire.toml"): string {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-cli-"));
  folders.push(folder);
  if (toml !== undefined) writeFileSync(join(folder, name), toml);
  return folder;
}

/** Runs the command as a user does, in that folder and only with the given environment variables. */
export function startDeltawire(
  args: readonly string[],
  {
    cwd,
    env = {},
    stdout = "pipe",
    stderr = "pipe",
    command = [],
  }: {
    cwd: string;
    env?: Record<string, string>;
    /** File descriptors instead of pipes. */
    stdout?: "pipe" | number;
    stderr?: "pipe" | number;
    /** The command that runs it: `["sh", "-c", 'ulimit -n 99; exec "$@"', "sh"]`. */
    command?: readonly string[];
  },
): DeltawireProcess {
  const node = [process.execPath, "--conditions=@deltawire/source", mainFile, ...args];
  const [program = "", ...rest] = [...command, ...node];
  const child: ChildProcess = spawn(program, rest, {
    cwd,
    env: { HOME: cwd, PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", stdout, stderr],
  });
  children.add(child);
  let out = "";
  let err = "";
  let resolveUrl = (_url: string): void => undefined;
  let rejectUrl = (_error: Error): void => undefined;
  const url = new Promise<string>((resolve, reject) => {
    resolveUrl = resolve;
    rejectUrl = reject;
  });
  url.catch(() => undefined);
  child.stdout?.on("data", (chunk) => {
    out += String(chunk);
    // The URL may come in two chunks: it is complete when something follows it.
    const address = /http:\/\/[\w.:[\]]+(?=[^\w.:[\]])/.exec(out)?.[0];
    if (address !== undefined) resolveUrl(address);
  });
  child.stderr?.on("data", (chunk) => (err += String(chunk)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on("close", (code, signal) => {
      children.delete(child);
      rejectUrl(new Error(`it ended with ${String(code ?? signal)}: ${err}`));
      resolve(code ?? signal);
    });
  });
  return { child, stdout: () => out, stderr: () => err, ended, url };
}
