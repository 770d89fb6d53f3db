import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Counts, Hold } from "./counter.ts";
import { startUpstream } from "./upstream.ts";

/** A server's process that waits for its plan. */
export interface Process {
  child: ChildProcess;
  stderr(): string;
}

/** What all runs share: the counter, the model's upstream, servers that are ready, a folder. */
export class Kit {
  readonly counter: string;
  readonly upstream: string;
  readonly folder: string;
  readonly #children = new Set<ChildProcess>();
  readonly #ready: Promise<Process>[] = [];
  readonly #closeUpstream: () => Promise<void>;

  private constructor(
    folder: string,
    upstream: { url: string; close: () => Promise<void> },
    counter: { child: ChildProcess; url: string },
    ready: number,
  ) {
    this.folder = folder;
    this.upstream = upstream.url;
    this.#closeUpstream = upstream.close;
    this.counter = counter.url;
    this.#track(counter.child);
    for (let count = 0; count < ready; count += 1) this.#ready.push(this.#fork());
  }

  /** `ready` servers are kept, because a process takes longer to start than to take a task up. */
  static async open(ready = 4): Promise<Kit> {
    const folder = mkdtempSync(join(tmpdir(), "deltawire-kill-"));
    const upstream = await startUpstream();
    const child = started("counter.ts", folder);
    const [{ url }] = (await once(child, "message")) as [{ url: string }];
    return new Kit(folder, upstream, { child, url }, ready);
  }

  async server(): Promise<Process> {
    this.#ready.push(this.#fork());
    const next = this.#ready.shift();
    if (next === undefined) throw new Error("no server is ready");
    return next;
  }

  async counts(run: string): Promise<Counts> {
    return (await (await fetch(`${this.counter}/${run}`)).json()) as Counts;
  }

  /** Resolves when a run of the tool has come so far. */
  async held(run: string, hold: Hold): Promise<void> {
    await fetch(`${this.counter}/${run}/hold`, { method: "PUT", body: JSON.stringify(hold) });
    await fetch(`${this.counter}/${run}/held`);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#ready);
    await Promise.all([...this.#children].map((child) => ended(child)));
    await this.#closeUpstream();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #fork(): Promise<Process> {
    const child = started("server.ts", this.folder);
    let stderr = "";
    child.stderr?.on("data", (piece) => (stderr += String(piece)));
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

/** Kills one of ours, and resolves when it is gone. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

function started(file: string, folder: string): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ["--conditions=@deltawire/source", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { NODE_COMPILE_CACHE: join(folder, "compile-cache"), ...process.env },
  });
}
