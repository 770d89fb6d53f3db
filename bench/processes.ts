import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processTree } from "./measure.ts";

/** All that a run starts and writes, so that one call ends and removes it. */
export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), "deltawire-bench-"));
  readonly #children = new Set<ChildProcess>();

  /** Starts a program with an environment that holds nothing of the user's: no keys, no settings. */
  start(name: string, command: readonly string[], options: StartOptions = {}): Started {
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

  async stop({ child }: Started, patience = 5000): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const inTime = await Promise.race([
      ended.then(() => true),
      after(patience, false, { ref: false }),
    ]);
    if (inTime) return;
    processTree(child.pid ?? NaN).forEach(kill);
    await ended;
  }

  /** Ends all that was started, and what that started in turn: nginx's worker outlives its master. */
  close(): void {
    for (const { pid } of this.#children) if (pid !== undefined) processTree(pid).forEach(kill);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One that is closed, and the run with it, when somebody ends it from outside or it takes too long. */
export function guardedWorkshop(limitMs: number): Workshop {
  const workshop = new Workshop();
  const leave = (why: string, code: number) => {
    console.error(why);
    workshop.close();
    process.exit(code);
  };
  process.once("SIGINT", () => leave("interrupted", 130));
  process.once("SIGTERM", () => leave("ended from outside", 143));
  setTimeout(leave, limitMs, "took too long: something hangs", 1).unref();
  return workshop;
}

export interface StartOptions {
  ipc?: boolean;
}

export interface Started {
  name: string;
  child: ChildProcess;
  pid: number;
  /** What it has printed so far. */
  log(): string;
}

/** The command that runs a file with the Node in use; `file` is an address as `import.meta.resolve` returns it. */
export function nodeCommand(file: string, ...args: readonly (string | number)[]): string[] {
  return [
    process.execPath,
    "--conditions=@deltawire/source",
    fileURLToPath(file),
    ...args.map(String),
  ];
}

/** Resolves as soon as the path answers 200; asks every other millisecond. */
export async function answering(started: Started, port: number, path: string): Promise<void> {
  const until = performance.now() + 20_000;
  while (!(await answers(port, path))) {
    const { exitCode, signalCode } = started.child;
    if (exitCode !== null || signalCode !== null || performance.now() > until)
      throw new Error(
        `${started.name} ${exitCode === null && signalCode === null ? "does not answer" : "ended"}:\n` +
          started.log().slice(-2000),
      );
    await after(2);
  }
}

/** Longer than the longest part of a benchmark takes on a busy machine. */
const messageTimeoutMs = 240_000;

/** Resolves with the next message of a process; rejects if it ends before. */
export async function nextMessage(started: Started): Promise<unknown> {
  const { name, child } = started;
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`${name} ended:\n${started.log()}`));
  child.once("exit", onExit);
  try {
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(messageTimeoutMs)]);
    const [message] = (await once(child, "message", { signal })) as [unknown];
    return message;
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason as Error;
    throw new Error(`${name} said nothing for ${messageTimeoutMs / 1000} s`, { cause: error });
  } finally {
    child.off("exit", onExit);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on("error", () => resolve(false));
    asked.end();
  });
}
