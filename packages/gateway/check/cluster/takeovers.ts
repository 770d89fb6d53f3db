import { setTimeout as sleep } from "node:timers/promises";
import { takeoverMs, type Cluster } from "../../../../test/cluster/cluster.ts";
import type { ClusterProcess } from "../../../../test/cluster/cluster-process.ts";
import { waitUntil } from "../../../../test/cluster/wait-until.ts";

export interface Takeover {
  tasks: number;
  ms: number;
  /** True if PostgreSQL was restarted meanwhile, so that the time limit does not apply. */
  hadOutage: boolean;
}

interface HeldTask {
  task_id: string;
  /** The number of its last event. */
  head: number;
}

/** After this time, a task counts as lost. */
const lostMs = 60_000;
const pollMs = 50;
/** Much longer than a start takes, because the machine may be busy. */
const startTimeoutMs = 120_000;

/** Measures how long it takes until other processes continue the tasks of a failed one. */
export class Takeovers {
  readonly #cluster: Cluster;
  readonly #onFault: (fault: string) => void;
  /** The ids that processes have in the store. */
  readonly #idsByProcess = new Map<ClusterProcess, string>();
  readonly #knownIds = new Set<string>();
  #latestStart: Promise<unknown> = Promise.resolve();
  #outageCount = 0;
  readonly measurements: Takeover[] = [];

  constructor(cluster: Cluster, onFault: (fault: string) => void) {
    this.#cluster = cluster;
    this.#onFault = onFault;
  }

  /** Starts a process and finds its id. One at a time, because a new id must be that of the started process. */
  start(process: ClusterProcess): Promise<void> {
    const previous = this.#latestStart;
    const startPromise = previous.then(() => this.#start(process));
    this.#latestStart = startPromise.catch(() => undefined);
    return startPromise;
  }

  async #start(process: ClusterProcess): Promise<void> {
    process.spawn();
    await process.waitUntilReady(startTimeoutMs);
    const id = await waitUntil(`${process.name} has a lease`, async () => {
      const rows = await this.#cluster.query<{ process_id: string }>(
        "SELECT process_id FROM deltawire.processes",
      );
      return rows.find(({ process_id }) => !this.#knownIds.has(process_id))?.process_id;
    });
    this.#knownIds.add(id);
    this.#idsByProcess.set(process, id);
  }

  /** Must be called when PostgreSQL was restarted. */
  recordOutage(): void {
    this.#outageCount += 1;
  }

  /** Call it directly after the failure. Resolves when each of its tasks has a new event of another process, or has ended. */
  async measure(process: ClusterProcess): Promise<void> {
    const failedAt = performance.now();
    const outagesBefore = this.#outageCount;
    const holder = this.#idsByProcess.get(process) ?? "";
    const lostTasks = await this.#listHeldTasks(holder);
    if (lostTasks.length === 0) return;
    let waitingTasks = lostTasks;
    while (waitingTasks.length > 0) {
      const waitingIds = waitingTasks.map(({ task_id }) => task_id);
      if (performance.now() - failedAt > lostMs)
        return this.#onFault(`nobody continued ${waitingIds.join(", ")} of ${process.name}`);
      await sleep(pollMs);
      waitingTasks = await this.#listWaitingTasks(holder, waitingTasks);
    }
    const ms = performance.now() - failedAt;
    const hadOutage = this.#outageCount > outagesBefore;
    this.measurements.push({ tasks: lostTasks.length, ms, hadOutage });
    if (ms > takeoverMs && !hadOutage)
      this.#onFault(`the tasks of ${process.name} were taken over after ${ms.toFixed(0)} ms`);
  }

  /** Returns the unfinished tasks of a process. Repeated while PostgreSQL restarts. */
  #listHeldTasks(holder: string): Promise<HeldTask[]> {
    return waitUntil("the leases can be read", () =>
      this.#cluster.query<HeldTask>(
        "SELECT task_id, head::int FROM deltawire.tasks WHERE holder = $1 AND ended_at IS NULL AND root IS NULL",
        [holder],
      ),
    );
  }

  /** Returns those of the tasks that nobody has continued. */
  async #listWaitingTasks(holder: string, tasks: readonly HeldTask[]): Promise<HeldTask[]> {
    const rows = await waitUntil("the tasks can be read", () =>
      this.#cluster.query<HeldTask & { holder: string | null }>(
        "SELECT task_id, head::int, holder FROM deltawire.tasks WHERE task_id = ANY ($1::text[]) AND ended_at IS NULL",
        [tasks.map(({ task_id }) => task_id)],
      ),
    );
    const unfinished = new Map(rows.map((row) => [row.task_id, row]));
    return tasks.filter(({ task_id, head }) => {
      const row = unfinished.get(task_id);
      return row !== undefined && (row.holder === holder || row.head <= head);
    });
  }
}
