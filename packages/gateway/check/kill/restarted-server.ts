import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { effects } from "./agents.ts";
import type { Hold } from "./counter.ts";
import { ended, type Kit, type Process } from "./kit.ts";
import type { Death } from "./mortal-store.ts";
import { epitaph, type FromServer, type Plan } from "./server.ts";

/** How a server ends: by itself at a write, by us while a tool runs, or by us after a time. */
export type Kill = Death | Hold | { afterMs: number };

export interface RestartedOptions {
  run: string;
  folder: string;
  /** The module of its store. */
  store: string;
  kills: readonly Kill[];
}

/** A server that is killed, and started again on the same folder, as often as it is said; the last one lives. */
export class RestartedServer {
  readonly #kit: Kit;
  readonly #run: string;
  readonly #folder: string;
  readonly #kills: readonly Kill[];
  readonly #store: string;
  #current: Process | undefined;
  readonly #gaveUp = new AbortController();
  #isStopped = false;
  /** Where it listens, unless it is down. */
  url: string | undefined;
  /** Where each of them was killed. */
  readonly killedAt: string[] = [];
  readonly faults: string[] = [];

  constructor(kit: Kit, { run, folder, store, kills }: RestartedOptions) {
    this.#kit = kit;
    this.#run = run;
    this.#folder = folder;
    this.#store = store;
    this.#kills = kills;
    void this.#start();
  }

  /** Aborted when it ended otherwise than it should: it is not started again. */
  get gaveUp(): AbortSignal {
    return this.#gaveUp.signal;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#current !== undefined) await ended(this.#current.child);
  }

  async #start(): Promise<void> {
    const process = await this.#kit.server();
    const { child } = process;
    if (this.#isStopped) return ended(child);
    this.#current = process;
    const kill = this.#kills[this.killedAt.length];
    child.once("message", (message: FromServer) => {
      if ("url" in message) this.url = message.url;
    });
    child.once("exit", (code, signal) => {
      this.url = undefined;
      const said = process.stderr();
      if (said !== "") this.faults.push(`the server complained: ${said}`);
      if (this.#isStopped) return;
      if (kill === undefined || signal !== "SIGKILL") {
        this.faults.push(`the server ended by itself with ${code ?? signal}`);
        this.#gaveUp.abort();
        return;
      }
      this.killedAt.push(this.#nameOf(kill));
      void this.#start();
    });
    const plan: Plan = {
      run: this.#run,
      folder: this.#folder,
      store: this.#store,
      counter: this.#kit.counter,
      upstream: this.#kit.upstream,
      death: kill !== undefined && "at" in kill ? kill : undefined,
    };
    child.send(plan);
    if (kill === undefined || "at" in kill) return;
    if ("afterMs" in kill) setTimeout(() => child.kill("SIGKILL"), kill.afterMs);
    else
      this.#kit.held(this.#run, kill).then(
        () => child.kill("SIGKILL"),
        () => undefined, // nobody came to it, and all is over
      );
  }

  #nameOf(kill: Kill): string {
    if ("tool" in kill)
      return `a tool: ${effects[kill.tool]}, ${kill.counted ? "done" : "not done"}`;
    if ("afterMs" in kill) return "at random";
    const file = join(this.#folder, epitaph);
    const what = readFileSync(file, "utf8");
    rmSync(file);
    return what;
  }
}
