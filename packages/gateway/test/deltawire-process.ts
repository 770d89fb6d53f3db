import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const children = new Set<ChildProcess>();
const folders: string[] = [];

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export interface Running {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
  /** Where it listens, once it says so; fails if it ends before. */
  url: Promise<string>;
}

/** A folder of its own for a configuration, a home and data; removed after the test. */
export function temporaryFolder(toml?: string, name = "deltawire.toml"): string {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-cli-"));
  folders.push(folder);
  if (toml !== undefined) writeFileSync(join(folder, name), toml);
  return folder;
}

/** The command as a user runs it, in that folder and with no more of the environment than is given. */
export function deltawire(
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
    /** Descriptors of files instead of pipes. */
    stdout?: "pipe" | number;
    stderr?: "pipe" | number;
    /** Runs it: `["sh", "-c", 'ulimit -n 99; exec "$@"', "sh"]`. */
    command?: readonly string[];
  },
): Running {
  const node = [process.execPath, "--conditions=@deltawire/source", main, ...args];
  const [program = "", ...rest] = [...command, ...node];
  const child: ChildProcess = spawn(program, rest, {
    cwd,
    env: { HOME: cwd, PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", stdout, stderr],
  });
  children.add(child);
  let out = "";
  let err = "";
  let say = (_url: string): void => undefined;
  let give = (_error: Error): void => undefined;
  const url = new Promise<string>((resolve, reject) => {
    say = resolve;
    give = reject;
  });
  url.catch(() => undefined);
  child.stdout?.on("data", (piece) => {
    out += String(piece);
    // The address may come in two pieces: it is complete when something follows it.
    const found = /http:\/\/[\w.:[\]]+(?=[^\w.:[\]])/.exec(out)?.[0];
    if (found !== undefined) say(found);
  });
  child.stderr?.on("data", (piece) => (err += String(piece)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on("close", (code, signal) => {
      children.delete(child);
      give(new Error(`it ended with ${String(code ?? signal)}: ${err}`));
      resolve(code ?? signal);
    });
  });
  return { child, stdout: () => out, stderr: () => err, ended, url };
}
