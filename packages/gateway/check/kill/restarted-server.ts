import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { effects } from "./agents.ts";
import type { HeldCall } from "./counter.ts";
import { killProcess, type KillHarness, type ServerProcess } from "./kill-harness.ts";
import type { CrashPoint } from "./crashing-store.ts";
import { crashReportFile, type ServerMessage, type ServerPlan } from "./server.ts";

/** How a server is killed: by itself at a write, while a tool runs, or after a time. */
export type Kill = CrashPoint | HeldCall | { afterMs: number };

export interface RestartedServerOptions {
  run: string;
  folder: string;
  /** A module that exports `openStore`. */
  store: string;
  kills: readonly Kill[];
}

/** A server that is killed as planned and restarted on the same folder each time. After the last kill it keeps running. */
export class RestartedServer {
  readonly #harness: KillHarness;
  readonly #run: string;
  readonly #folder: string;
  readonly #kills: readonly Kill[];
  readonly #store: string;
  #current: ServerProcess | undefined;
  readonly #abandoned = new AbortController();
  #isStopped = false;
  /** Its URL, unless it is down. */
  url: string | undefined;
  /** Where each process was killed: the kind of write, the tool, or "at random". */
  readonly killedAt: string[] = [];
  readonly faults: string[] = [];

  constructor(harness: KillHarness, { run, folder, store, kills }: RestartedServerOptions) {
    this.#harness = harness;
    this.#run = run;
    this.#folder = folder;
    this.#store = store;
    this.#kills = kills;
    void this.#start();
  }

  /** Aborted if the server ended unexpectedly. Then it is not restarted. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#current !== undefined) await killProcess(this.#current.child);
  }

  async #start(): Promise<void> {
    const process = await this.#harness.takeServer();
    const { child } = process;
    if (this.#isStopped) return killProcess(child);
    this.#current = process;
    const kill = this.#kills[this.killedAt.length];
    child.once("message", (message: ServerMessage) => {
      if ("url" in message) this.url = message.url;
    });
    child.once("exit", (code, signal) => {
      this.url = undefined;
      const stderrText = process.stderr();
      if (stderrText !== "") this.faults.push(`the server wrote to stderr: ${stderrText}`);
      if (this.#isStopped) return;
      if (kill === undefined || signal !== "SIGKILL") {
        this.faults.push(`the server ended unexpectedly with ${code ?? signal}`);
        this.#abandoned.abort();
        return;
      }
      this.killedAt.push(this.#describeKill(kill));
      void this.#start();
    });
    const plan: ServerPlan = {
      run: this.#run,
      folder: this.#folder,
      store: this.#store,
      counter: this.#harness.counter,
      upstream: this.#harness.upstream,
      crashPoint: kill !== undefined && "at" in kill ? kill : undefined,
    };
    child.send(plan);
    if (kill === undefined || "at" in kill) return;
    if ("afterMs" in kill) setTimeout(() => child.kill("SIGKILL"), kill.afterMs);
    else
      this.#harness.waitUntilHeld(this.#run, kill).then(
        () => child.kill("SIGKILL"),
        () => undefined, // The run ended before the tool was called.
      );
  }

  #describeKill(kill: Kill): string {
    if ("tool" in kill)
      return `a tool: ${effects[kill.tool]}, ${kill.counted ? "done" : "not done"}`;
    if ("afterMs" in kill) return "at random";
    const file = join(this.#folder, crashReportFile);
    const what = readFileSync(file, "utf8");
    rmSync(file);
    return what;
  }
}
