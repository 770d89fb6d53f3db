import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterProcess, JsonReply } from "../../../../test/cluster/cluster-process.ts";

export interface BalancedReply extends JsonReply {
  /** True if an earlier attempt may have been carried out too. */
  wasRepeated: boolean;
}

const retryMs = 150;
/** Longer than any fault lasts. */
const giveUpMs = 60_000;

/** Sends each request to a random process, and to another one if that fails. */
export class LoadBalancer {
  readonly #processes: readonly ClusterProcess[];
  readonly #random: () => number;
  readonly #unhealthy = new Set<ClusterProcess>();

  constructor(processes: readonly ClusterProcess[], random: () => number) {
    this.#processes = processes;
    this.#random = random;
  }

  /** Processes that accept requests, as far as their health checks show. */
  get healthy(): ClusterProcess[] {
    return this.#processes.filter((process) => !this.#unhealthy.has(process));
  }

  setHealthy(process: ClusterProcess, isHealthy: boolean): void {
    if (isHealthy) this.#unhealthy.delete(process);
    else this.#unhealthy.add(process);
  }

  pick(): ClusterProcess {
    const { healthy } = this;
    const process = healthy[Math.floor(this.#random() * healthy.length)];
    if (process === undefined) throw new Error("no process is healthy");
    return process;
  }

  /** Repeats the request while `mustRepeat` returns true. Sends a GET, or a POST if there is a body. */
  async request(
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<BalancedReply> {
    const startedAt = performance.now();
    for (let wasRepeated = false; ; wasRepeated = true) {
      let failure: string;
      try {
        const reply = await this.pick().requestJson(path, body, headers);
        if (!mustRepeat(reply)) return { ...reply, wasRepeated };
        failure = `${reply.status} ${JSON.stringify(reply.body)}`;
      } catch (error) {
        failure = String(error);
      }
      if (performance.now() - startedAt > giveUpMs)
        throw new Error(`no process accepted ${path} for ${giveUpMs / 1000} s: ${failure}`);
      await sleep(retryMs);
    }
  }
}

/** True if another process may accept the request. 408: the process was suspended before it had read the request. */
export function mustRepeat({ status }: Pick<JsonReply, "status">): boolean {
  return status >= 500 || status === 408;
}
