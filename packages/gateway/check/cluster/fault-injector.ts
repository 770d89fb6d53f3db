import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../../../test/cluster/cluster.ts";
import type { ClusterProcess } from "../../../../test/cluster/cluster-process.ts";
import type { LoadBalancer } from "./load-balancer.ts";
import type { Takeovers } from "./takeovers.ts";

const processFaults = ["kill", "suspend past the lease", "suspend briefly", "stop"] as const;
const serverFaults = ["restart PostgreSQL", "restart Redis", "suspend Redis"] as const;

export const faultKinds = [...processFaults, ...serverFaults];
export type FaultKind = (typeof faultKinds)[number];

/** The number of faults of each kind in a series. */
const weights: Readonly<Record<FaultKind, number>> = {
  kill: 4,
  "suspend past the lease": 2,
  "suspend briefly": 2,
  stop: 2,
  "restart PostgreSQL": 1,
  "restart Redis": 1,
  "suspend Redis": 1,
};

/** Longer than the time within which tasks must be taken over. */
const longSuspensionMs = { min: 10_500, max: 13_000 };
/** Shorter than the lease. */
const shortSuspensionMs = { min: 300, max: 4000 };
const faultIntervalMs = { min: 1000, max: 4000 };
const downMs = { min: 0, max: 9000 };
/** How long a load balancer takes to notice that a process has failed. */
const healthCheckMs = 1000;
const minHealthy = 2;
/** Much longer than it takes, because the machine may be busy. */
const readyTimeoutMs = 120_000;

export interface FaultInjectorOptions {
  cluster: Cluster;
  balancer: LoadBalancer;
  takeovers: Takeovers;
  random: () => number;
  onFault: (fault: string) => void;
}

/** Makes processes and servers fail at random, several at the same time, and brings them back. */
export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  readonly #stopController = new AbortController();
  readonly #injections = new Map<Promise<void>, string>();
  readonly #failingTargets = new Set<ClusterProcess | "Redis">();
  #series: FaultKind[] = [];
  #loop: Promise<void> | undefined;
  /** What is being done to each process. */
  readonly #steps = new Map<ClusterProcess, string>();
  readonly counts = new Map<FaultKind, number>();

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Resolves when everything runs again. */
  async stop(): Promise<void> {
    this.#stopController.abort();
    await this.#loop;
    await Promise.all(this.#injections.keys());
  }

  /** Describes the faults that are not over. */
  listRunning(): string[] {
    return [...this.#injections.values(), ...this.#steps.values()];
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopController;
    for (;;) {
      await sleep(this.#randomBetween(faultIntervalMs), undefined, { signal }).catch(
        () => undefined,
      );
      if (signal.aborted) return;
      const kind = this.#pickNextKind();
      const injection = this.#inject(kind)
        .catch((error: unknown) => this.#options.onFault(`${kind}: ${String(error)}`))
        .finally(() => this.#injections.delete(injection));
      this.#injections.set(injection, kind);
    }
  }

  /** Every series contains all kinds, so that a short check has them too. */
  #pickNextKind(): FaultKind {
    const { cluster, random } = this.#options;
    if (this.#series.length === 0)
      this.#series = faultKinds
        .filter((kind) => cluster.redis !== undefined || !kind.endsWith("Redis"))
        .flatMap((kind) => Array.from({ length: weights[kind] }, () => ({ kind, order: random() })))
        .toSorted((a, b) => a.order - b.order)
        .map(({ kind }) => kind);
    return this.#series.pop() ?? "kill";
  }

  async #inject(kind: FaultKind): Promise<void> {
    switch (kind) {
      case "restart PostgreSQL":
        this.#recordKind(kind);
        await this.#options.cluster.restartPostgres();
        return this.#options.takeovers.recordOutage();
      case "restart Redis":
      case "suspend Redis":
        return this.#failRedis(kind);
      default:
        return this.#failProcess(kind);
    }
  }

  async #failRedis(kind: "restart Redis" | "suspend Redis"): Promise<void> {
    const { redis } = this.#options.cluster;
    if (redis === undefined || this.#failingTargets.has("Redis")) return;
    this.#failingTargets.add("Redis");
    this.#recordKind(kind);
    const ms = this.#randomBetween(shortSuspensionMs);
    if (kind === "suspend Redis") {
      redis.suspend();
      await sleep(ms);
      redis.resume();
    } else {
      await redis.kill();
      await sleep(ms);
      await redis.start();
    }
    this.#failingTargets.delete("Redis");
  }

  async #failProcess(kind: (typeof processFaults)[number]): Promise<void> {
    const { balancer, random } = this.#options;
    const candidates = balancer.healthy.filter((process) => !this.#failingTargets.has(process));
    if (candidates.length <= minHealthy) return;
    const process = candidates[Math.floor(random() * candidates.length)];
    if (process === undefined) return;
    this.#failingTargets.add(process);
    this.#recordKind(kind);
    await (kind === "kill" || kind === "stop"
      ? this.#endProcess(process, kind)
      : this.#suspendProcess(process, kind));
    this.#failingTargets.delete(process);
    this.#steps.delete(process);
  }

  async #endProcess(process: ClusterProcess, kind: "kill" | "stop"): Promise<void> {
    const { balancer, takeovers } = this.#options;
    this.#steps.set(process, `${process.name} has not exited after ${kind}`);
    const exit = process.end(kind === "kill" ? "SIGKILL" : "SIGTERM");
    const healthCheck = sleep(healthCheckMs).then(() => balancer.setHealthy(process, false));
    await exit;
    this.#steps.set(process, `${process.name} is not ready again, or its tasks are not taken over`);
    await Promise.all([
      takeovers.measure(process),
      sleep(this.#randomBetween(downMs))
        .then(() => healthCheck)
        .then(() => takeovers.start(process)),
    ]);
    balancer.setHealthy(process, true);
  }

  async #suspendProcess(
    process: ClusterProcess,
    kind: "suspend past the lease" | "suspend briefly",
  ): Promise<void> {
    const { balancer, takeovers } = this.#options;
    const isLong = kind === "suspend past the lease";
    process.suspend();
    const healthCheck = sleep(healthCheckMs).then(() => balancer.setHealthy(process, false));
    const takeover = isLong ? takeovers.measure(process) : undefined;
    await sleep(this.#randomBetween(isLong ? longSuspensionMs : shortSuspensionMs));
    process.resume();
    await Promise.all([takeover, healthCheck, process.waitUntilReady(readyTimeoutMs)]);
    balancer.setHealthy(process, true);
  }

  #recordKind(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  #randomBetween({ min, max }: { min: number; max: number }): number {
    return min + this.#options.random() * (max - min);
  }
}
