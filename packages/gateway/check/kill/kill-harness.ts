import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Counts, HeldCall } from "./counter.ts";
import { startUpstream } from "./upstream.ts";

/** A started process that waits for its `ServerPlan`. */
export interface ServerProcess {
  child: ChildProcess;
  stderr(): string;
}

/** Shared by all runs: the counter of tool runs, the model's upstream, started server processes and a folder. */
export class KillHarness {
  readonly counter: string;
  readonly upstream: string;
  readonly folder: string;
  readonly #children = new Set<ChildProcess>();
  readonly #readyServers: Promise<ServerProcess>[] = [];
  readonly #closeUpstream: () => Promise<void>;

  private constructor(
    folder: string,
    upstream: { url: string; close: () => Promise<void> },
    counter: { child: ChildProcess; url: string },
    readyCount: number,
  ) {
    this.folder = folder;
    this.upstream = upstream.url;
    this.#closeUpstream = upstream.close;
    this.counter = counter.url;
    this.#track(counter.child);
    for (let count = 0; count < readyCount; count += 1) this.#readyServers.push(this.#fork());
  }

  /** Starts `readyCount` server processes in advance, because starting one takes longer than resuming a task. */
  static async open(readyCount = 4): Promise<KillHarness> {
    const folder = mkdtempSync(join(tmpdir(), "deltawire-kill-"));
    const upstream = await startUpstream();
    const child = startProcess("counter.ts", folder);
    const [{ url }] = (await once(child, "message")) as [{ url: string }];
    return new KillHarness(folder, upstream, { child, url }, readyCount);
  }

  /** Returns a started server process, and starts the next one. */
  async takeServer(): Promise<ServerProcess> {
    this.#readyServers.push(this.#fork());
    const next = this.#readyServers.shift();
    if (next === undefined) throw new Error("no server is ready");
    return next;
  }

  async readCounts(run: string): Promise<Counts> {
    return (await (await fetch(`${this.counter}/${run}`)).json()) as Counts;
  }

  /** Makes the counter hold the next run of a tool. Resolves when a run is held. */
  async waitUntilHeld(run: string, hold: HeldCall): Promise<void> {
    await fetch(`${this.counter}/${run}/hold`, { method: "PUT", body: JSON.stringify(hold) });
    await fetch(`${this.counter}/${run}/held`);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#readyServers);
    await Promise.all([...this.#children].map((child) => killProcess(child)));
    await this.#closeUpstream();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #fork(): Promise<ServerProcess> {
    const child = startProcess("server.ts", this.folder);
    let stderr = "";
    child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
    this.#track(child);
    await new Promise<void>((resolve, reject) => {
      child.once("message", () => resolve());
      child.once("exit", () => reject(new Error(`a server did not start: ${stderr}`)));
    });
    return { child, stderr: () => stderr };
  }

  #track(child: ChildProcess): void {
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
  }
}

/** Kills a process and resolves when it has exited. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function startProcess(file: string, folder: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ["--conditions=@deltawire/source", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { NODE_COMPILE_CACHE: join(folder, "compile-cache"), ...process.env },
  });
}
