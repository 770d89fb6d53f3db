import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listProcessTree } from "./measure.ts";

/** The processes and files of a benchmark run. `close` ends and removes all of them. */
export class BenchEnvironment {
  readonly folder = mkdtempSync(join(tmpdir(), "deltawire-bench-"));
  readonly #children = new Set<ChildProcess>();

  /** Starts a program without the user's environment variables: no keys, no settings. */
  start(name: string, command: readonly string[], options: ProcessOptions = {}): StartedProcess {
    const [program = "", ...args] = command;
    const log = join(this.folder, `${name}.log`);
    const output = openSync(log, "a");
    const home = join(this.folder, "home");
    mkdirSync(home, { recursive: true });
    const child = spawn(program, args, {
      cwd: this.folder,
      stdio: ["ignore", output, output, ...(options.ipc === true ? (["ipc"] as const) : [])],
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        XDG_CONFIG_HOME: join(home, "config"),
        XDG_DATA_HOME: join(home, "data"),
        XDG_STATE_HOME: join(home, "state"),
        NODE_COMPILE_CACHE: join(this.folder, "compile-cache"),
      },
    });
    closeSync(output);
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    child.once("error", () => this.#children.delete(child));
    return { name, child, pid: child.pid ?? NaN, log: () => readFileSync(log, "utf8") };
  }

  async stop({ child }: StartedProcess, timeoutMs = 5000): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const exitedInTime = await Promise.race([
      ended.then(() => true),
      sleep(timeoutMs, false, { ref: false }),
    ]);
    if (exitedInTime) return;
    listProcessTree(child.pid ?? NaN).forEach(killProcess);
    await ended;
  }

  /** Kills all processes and their descendants: nginx's worker outlives its master. */
  close(): void {
    for (const { pid } of this.#children)
      if (pid !== undefined) listProcessTree(pid).forEach(killProcess);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Creates an environment that is closed on SIGINT, on SIGTERM or after a time limit, which also ends this process. */
export function createBenchEnvironment(limitMs: number): BenchEnvironment {
  const environment = new BenchEnvironment();
  const abort = (reason: string, code: number) => {
    console.error(reason);
    environment.close();
    process.exit(code);
  };
  process.once("SIGINT", () => abort("interrupted", 130));
  process.once("SIGTERM", () => abort("terminated", 143));
  setTimeout(abort, limitMs, "timed out", 1).unref();
  return environment;
}

export interface ProcessOptions {
  ipc?: boolean;
}

export interface StartedProcess {
  name: string;
  child: ChildProcess;
  pid: number;
  /** The output so far. */
  log(): string;
}

/** Returns the command that runs a file with the current Node. `file` is a URL from `import.meta.resolve`. */
export function buildNodeCommand(file: string, ...args: readonly (string | number)[]): string[] {
  return [
    process.execPath,
    "--conditions=@deltawire/source",
    fileURLToPath(file),
    ...args.map(String),
  ];
}

/** Resolves when the path responds with 200. Polls every 2 ms. */
export async function waitUntilReady(
  target: StartedProcess,
  port: number,
  path: string,
): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await isReady(port, path))) {
    const { exitCode, signalCode } = target.child;
    if (exitCode !== null || signalCode !== null || performance.now() > deadline)
      throw new Error(
        `${target.name} ${exitCode === null && signalCode === null ? "does not respond" : "ended"}:\n` +
          target.log().slice(-2000),
      );
    await sleep(2);
  }
}

/** No part of a benchmark takes longer, even on a busy machine. */
const messageTimeoutMs = 240_000;

/** Resolves with the next message of a process. Rejects if the process ends first. */
export async function waitForMessage(target: StartedProcess): Promise<unknown> {
  const { name, child } = target;
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`${name} ended:\n${target.log()}`));
  child.once("exit", onExit);
  try {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(messageTimeoutMs)]);
    const [message] = (await once(child, "message", { signal })) as [unknown];
    return message;
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason as Error;
    throw new Error(`${name} sent no message for ${messageTimeoutMs / 1000} s`, { cause: error });
  } finally {
    child.off("exit", onExit);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

function isReady(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const outgoing = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    outgoing.on("error", () => resolve(false));
    outgoing.end();
  });
}
