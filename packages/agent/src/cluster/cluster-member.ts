import { randomUUID } from "node:crypto";
import { hasEnded, type ClaimOptions, type TaskLease } from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import type { ClusterOptions, ClusterStore } from "./cluster-options.ts";
import { CommandReceiver, type CommandReceiverOptions } from "./command-receiver.ts";
import { CommandSender } from "./command-sender.ts";
import { ProcessLease } from "./process-lease.ts";
import type { StoreClock } from "./store-clock.ts";
import type { TaskAction, TaskActionResult } from "./task-command.ts";

export interface ClusterMemberOptions
  extends ClusterOptions, Pick<CommandReceiverOptions, "isRunning" | "perform" | "onFailure"> {
  newId: (prefix: string) => string;
  /** Synchronized with the clock of the store. */
  clock: StoreClock;
  /** Resumes a task if no other process holds it. */
  claim: (rootTaskId: string) => Promise<void>;
  /** Called with tasks that no process ran. They are now reserved for this one. */
  onClaimed: (leases: readonly TaskLease[]) => void;
  /** Called with tasks that may be reserved for this process although nothing runs them. */
  onHeld: (taskIds: readonly string[]) => void;
  /**
   * Called when other processes could have claimed tasks of this one. Must stop those that are not in the list. Until it resolves,
   * the lease does not count as valid.
   */
  onLapsed: (listLeases: () => Promise<readonly TaskLease[]>) => Promise<void>;
}

const defaults = { leaseMs: 6000, renewMs: 1000 };
/** Maximum number of tasks per claim, so that one process does not take over all tasks of a dead process. */
const claimLimit = 200;
/** How long this process does not claim a task that it could not run. */
const releasedMs = 60_000;
/** How long after a failed claim tasks may still become reserved for this process: the store may carry it out later. */
const lostReplyMs = 60_000;

/** One of several processes that share the tasks of a store. */
export class ClusterMember {
  readonly processId: string;
  readonly #options: ClusterMemberOptions;
  readonly #store: ClusterStore;
  readonly #lease: ProcessLease;
  readonly #sender: CommandSender;
  readonly #receiver: CommandReceiver;
  /** Tasks that this process cannot run, with the time until which it does not claim them. */
  readonly #releasedUntil = new Map<string, number>();
  #started: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  #claiming: Promise<void> | undefined;
  #claimsFreeTasks = false;
  /** Until then, tasks may be reserved for this process because of a claim whose reply was lost. */
  #checksHeldUntil = Number.NEGATIVE_INFINITY;
  /** What failed in the last attempt. */
  readonly #failing = new Set<"renewal" | "claim">();
  #isClosed = false;
  #isReleased = false;

  constructor(options: ClusterMemberOptions) {
    const { store, bus, processId = randomUUID(), leaseMs = defaults.leaseMs } = options;
    this.#options = options;
    this.#store = store;
    this.processId = processId;
    this.#lease = new ProcessLease({ store, processId, leaseMs, now: () => performance.now() });
    this.#sender = new CommandSender({ store, bus, newId: options.newId, claim: options.claim });
    this.#receiver = new CommandReceiver({ ...options, bus, processId });
  }

  /** False if other processes may have claimed the tasks of this one: it must not start anything that has an effect. */
  get isLeaseValid(): boolean {
    return this.#lease.isValid;
  }

  /** False if the last attempt to renew the lease, or to claim tasks, has failed. */
  get isStoreReachable(): boolean {
    return this.#failing.size === 0;
  }

  /** Resolves when this process may hold tasks. Rejects with a StoreError. From then on the lease is renewed. */
  start(): Promise<void> {
    this.#started ??= this.#startNow().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    return this.#started;
  }

  /**
   * Claims tasks that no process runs, from now on also periodically, even if the first attempt fails. Returns those that were
   * claimed immediately.
   */
  async claimFreeTasks(): Promise<TaskLease[]> {
    this.#claimsFreeTasks = true;
    await this.start();
    return this.#claimFree();
  }

  /** Claims these tasks, unless another process holds them. Returns the claimed ones. */
  async claimTasks(taskIds: readonly string[]): Promise<TaskLease[]> {
    if (taskIds.length === 0) return [];
    await this.start();
    return this.#claim({ limit: taskIds.length, taskIds });
  }

  async hasEnded(rootTaskId: string): Promise<boolean> {
    const [head] = await this.#store.listHeads([rootTaskId]);
    return head === undefined || hasEnded(head.status);
  }

  listLeases(): Promise<TaskLease[]> {
    return this.#store.listLeases(this.processId);
  }

  /** Releases a task that this process does not run, so that another process can claim it. */
  async release(taskId: string): Promise<void> {
    this.#releasedUntil.set(taskId, performance.now() + releasedMs);
    await this.#store.releaseLeases(this.processId, [taskId]);
  }

  /** Sends an action to the process that runs the task, and returns its answer. */
  send(rootTaskId: string, action: TaskAction): Promise<TaskActionResult> {
    return this.#sender.send(rootTaskId, action);
  }

  /** Stops accepting tasks and actions. The lease is still renewed, because tools may be running. */
  stop(): void {
    this.#isClosed = true;
    this.#receiver.close();
    this.#sender.close();
  }

  /** Releases all tasks, so that other processes can resume them immediately. Call `stop` first. */
  async releaseAll(): Promise<void> {
    this.#isReleased = true;
    clearTimeout(this.#timer);
    await Promise.allSettled([this.#started, this.#claiming, this.#renewing]);
    if (this.#started === undefined) return;
    try {
      await this.#store.releaseLeases(this.processId);
    } catch (error) {
      this.#options.onFailure(
        `could not release the tasks of this process: ${getErrorMessage(error)}`,
        error,
      );
    }
  }

  async #startNow(): Promise<void> {
    try {
      await this.#lease.renew();
      await this.#options.clock.sync();
      this.#failing.delete("renewal");
    } catch (error) {
      // The next renewal is another attempt.
      if (this.#claimsFreeTasks) {
        this.#report("renewal", "could not start the lease of this process", error);
        this.#schedule();
      }
      throw error;
    }
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isReleased) return;
    const { renewMs = defaults.renewMs } = this.#options;
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().finally(() => this.#schedule());
    }, renewMs);
  }

  async #renew(): Promise<void> {
    try {
      await this.#lease.renew();
      if (this.#lease.hasLapsed) {
        await this.#options.onLapsed(() => this.listLeases());
        this.#lease.confirm();
      }
      await this.#options.clock.sync();
      this.#failing.delete("renewal");
    } catch (error) {
      this.#report("renewal", "could not renew the lease of this process", error);
      return;
    }
    // After a failed start, this was the first renewal.
    this.#started ??= Promise.resolve();
    if (this.#claimsFreeTasks || this.#mayHoldUnknown) void this.#claimInBackground();
  }

  /** Not awaited by the renewal: a slow claim must not let the lease expire. */
  async #claimInBackground(): Promise<void> {
    if (this.#isClosed || this.#claiming !== undefined) return;
    this.#claiming = this.#resumeFree();
    await this.#claiming;
    this.#claiming = undefined;
  }

  async #resumeFree(): Promise<void> {
    try {
      const leases = this.#claimsFreeTasks ? await this.#claimFree() : [];
      if (leases.length > 0 && !this.#isClosed) this.#options.onClaimed(leases);
      if (this.#mayHoldUnknown) {
        const heldIds = (await this.listLeases()).map(({ taskId }) => taskId);
        if (heldIds.length > 0 && !this.#isClosed) this.#options.onHeld(heldIds);
      }
      this.#failing.delete("claim");
    } catch (error) {
      this.#report("claim", "could not look for tasks to resume", error);
    }
  }

  #claimFree(): Promise<TaskLease[]> {
    const now = performance.now();
    for (const [taskId, until] of this.#releasedUntil)
      if (until <= now) this.#releasedUntil.delete(taskId);
    const exclude = [...this.#releasedUntil.keys()];
    return this.#claim({ limit: claimLimit, exclude });
  }

  async #claim(options: ClaimOptions): Promise<TaskLease[]> {
    try {
      return await this.#store.claimTasks(this.processId, options);
    } catch (error) {
      this.#checksHeldUntil = performance.now() + lostReplyMs;
      throw error;
    }
  }

  /** True if tasks may be reserved for this process without its knowledge. */
  get #mayHoldUnknown(): boolean {
    return performance.now() < this.#checksHeldUntil;
  }

  /** Reports only the first of a series of failures. */
  #report(kind: "renewal" | "claim", description: string, error: unknown): void {
    if (this.#failing.has(kind) || this.#isClosed) return;
    this.#failing.add(kind);
    this.#options.onFailure(`${description}: ${getErrorMessage(error)}`, error);
  }
}
