import { hasEnded, type LogEntry, type MessageBus, type TaskLog } from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import { busChannels } from "./bus-channels.ts";
import type { ClusterStore } from "./cluster-options.ts";
import { decodeEventBatch, encodeEventBatch } from "./event-batch-message.ts";
import { emptyLogHead, TaskDelivery, type LogHead, type TaskListener } from "./task-delivery.ts";

export interface TaskSubscriptionsOptions {
  log: Pick<TaskLog, "read">;
  /** Undefined if no other process runs tasks of this log. */
  cluster: { store: Pick<ClusterStore, "listHeads">; bus?: MessageBus | undefined } | undefined;
  /** Returns the end of the stored log of a task that this process runs. Undefined for other tasks. */
  findLocalHead: (rootTaskId: string) => LogHead | undefined;
  /** Calls a listener and handles its errors. */
  notify: (call: () => void) => void;
  onFailure: (message: string, cause: unknown) => void;
}

/** How often the ends of the logs of other processes' tasks are read, in milliseconds. */
const pollMs = {
  /** While a task has events. */
  active: 100,
  idle: 200,
  /** While the bus delivers the events. Polling then only finds what the bus has lost. */
  withBus: 1500,
};
/** How long a task counts as active after an event. */
const activeMs = 2000;
/** How long the bus must be without loss before polling slows down. */
const busProbationMs = 1000;
/** Polling waits at least this long after a failure, doubled with each further one. */
const failureBackoffMs = { initial: 200, max: 2000 };
const maxConcurrentReads = 8;
/** Timers may fire slightly early. */
const timerToleranceMs = 10;

interface TaskSubscription {
  readonly delivery: TaskDelivery;
  /** Undefined if the end of the log was never read. */
  polledAt: number | undefined;
  activeAt: number;
  /** Until this time the log is polled often, even if the bus is connected. */
  pollsFastUntil: number;
  leaveChannel: (() => void) | undefined;
}

/**
 * The listeners for events of tasks, whichever process runs them. Events of this process's tasks are passed on directly; those of
 * other processes are read from the store and, if there is a message bus, received from it. A task may move between processes at
 * any time.
 */
export class TaskSubscriptions {
  readonly #options: TaskSubscriptionsOptions;
  readonly #bus: MessageBus | undefined;
  readonly #subscriptions = new Map<string, TaskSubscription>();
  #timer: NodeJS.Timeout | undefined;
  #isUpdating = false;
  #mustUpdateNow = false;
  #wasBusConnected = false;
  #failures = 0;
  #isStopped = false;

  constructor(options: TaskSubscriptionsOptions) {
    this.#options = options;
    this.#bus = options.cluster?.bus;
  }

  /** Calls `listener` with all events that are stored from now on. Returns a function that unsubscribes. */
  subscribe(rootTaskId: string, listener: TaskListener): () => void {
    const subscription = this.#subscriptions.get(rootTaskId) ?? this.#add(rootTaskId);
    const { delivery } = subscription;
    delivery.listeners.add(listener);
    return () => {
      delivery.listeners.delete(listener);
      if (delivery.listeners.size > 0) return;
      if (this.#subscriptions.get(rootTaskId) !== subscription) return;
      this.#subscriptions.delete(rootTaskId);
      subscription.leaveChannel?.();
      this.#schedule();
    };
  }

  /** Must be called before this process stores events of a task, with the end of its log. */
  onStarted(rootTaskId: string, logHead: LogHead): void {
    const subscription = this.#subscriptions.get(rootTaskId);
    if (subscription === undefined) return;
    const { delivery } = subscription;
    // A new task has no log yet, even if another task has its id.
    if (logHead.head >= 0 && isBefore(logHead, delivery.head)) delivery.rewind(logHead);
    else delivery.setStoredHead(logHead);
    this.#updateNow();
  }

  /** Must be called with each batch of a task of this process, after it was stored. */
  onStored(rootTaskId: string, entries: readonly LogEntry[]): void {
    if (this.#bus?.isConnected === true)
      this.#bus.publish(busChannels.task(rootTaskId), encodeEventBatch(entries));
    const delivery = this.#subscriptions.get(rootTaskId)?.delivery;
    if (delivery === undefined) return;
    delivery.push(entries);
    if (delivery.isBehind) this.#updateNow();
  }

  /** Must be called when this process no longer runs a task. */
  onStopped(rootTaskId: string): void {
    const subscription = this.#subscriptions.get(rootTaskId);
    if (subscription === undefined || !this.#isRemote(subscription)) return;
    subscription.polledAt = undefined;
    subscription.pollsFastUntil = performance.now() + busProbationMs;
    this.#updateNow();
  }

  /** Stops reading events of other processes' tasks. Those of this process are still delivered. */
  stopPolling(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const { leaveChannel } of this.#subscriptions.values()) leaveChannel?.();
  }

  #add(rootTaskId: string): TaskSubscription {
    const { findLocalHead, notify } = this.#options;
    const now = performance.now();
    const subscription: TaskSubscription = {
      delivery: new TaskDelivery(rootTaskId, findLocalHead(rootTaskId), notify),
      polledAt: undefined,
      activeAt: now,
      pollsFastUntil: now + busProbationMs,
      leaveChannel: undefined,
    };
    this.#subscriptions.set(rootTaskId, subscription);
    if (this.#isRemote(subscription)) this.#updateNow();
    return subscription;
  }

  /** True if another process may store events of the task. */
  #isRemote({ delivery: { rootTaskId, status } }: TaskSubscription): boolean {
    const { cluster, findLocalHead } = this.#options;
    return cluster !== undefined && !hasEnded(status) && findLocalHead(rootTaskId) === undefined;
  }

  #joinOrLeaveChannel(subscription: TaskSubscription): void {
    if (!this.#isRemote(subscription)) {
      subscription.leaveChannel?.();
      subscription.leaveChannel = undefined;
      return;
    }
    subscription.leaveChannel ??= this.#bus?.subscribe(
      busChannels.task(subscription.delivery.rootTaskId),
      (message) => this.#onMessage(subscription, message),
    );
  }

  #onMessage(subscription: TaskSubscription, message: string): void {
    const batch = decodeEventBatch(message);
    const { delivery } = subscription;
    if (batch === undefined) return;
    subscription.activeAt = performance.now();
    subscription.pollsFastUntil = 0;
    if (typeof batch === "number") delivery.announce(batch);
    else delivery.push(batch);
    if (delivery.isBehind || hasEnded(delivery.status)) this.#updateNow();
  }

  #updateNow(): void {
    this.#mustUpdateNow = true;
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const subscriptions = [...this.#subscriptions.values()];
    for (const subscription of subscriptions) this.#joinOrLeaveChannel(subscription);
    if (this.#isUpdating) return;
    const isUrgent = this.#mustUpdateNow || subscriptions.some(({ delivery }) => delivery.isBehind);
    if (!isUrgent && !subscriptions.some((subscription) => this.#isRemote(subscription))) return;
    this.#timer = setTimeout(() => void this.#update(), this.#getDelay(isUrgent)).unref();
  }

  #getDelay(isUrgent: boolean): number {
    const { initial, max } = failureBackoffMs;
    if (this.#failures > 0) return Math.min(initial * 2 ** (this.#failures - 1), max);
    return isUrgent ? 0 : pollMs.active;
  }

  async #update(): Promise<void> {
    this.#isUpdating = true;
    this.#mustUpdateNow = false;
    try {
      await this.#pollHeads();
      await this.#readLogs();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === 1 && !this.#isStopped)
        this.#options.onFailure(
          `could not read events of other processes' tasks: ${getErrorMessage(error)}`,
          error,
        );
    }
    this.#isUpdating = false;
    this.#schedule();
  }

  async #pollHeads(): Promise<void> {
    const now = performance.now();
    this.#checkBus(now);
    const dueSubscriptions = [...this.#subscriptions.values()].filter((subscription) =>
      this.#isDue(subscription, now),
    );
    if (dueSubscriptions.length === 0 || this.#options.cluster === undefined) return;
    const ids = dueSubscriptions.map(({ delivery }) => delivery.rootTaskId);
    // The bus may deliver events while the heads are read.
    const deliveredBefore = new Map(
      ids.map((id) => [id, this.#subscriptions.get(id)?.delivery.head]),
    );
    const heads = await this.#options.cluster.store.listHeads(ids);
    const headsById = new Map(heads.map((head) => [head.task_id, head]));
    for (const subscription of dueSubscriptions) {
      const { delivery } = subscription;
      const found = headsById.get(delivery.rootTaskId);
      const { head, status } = found ?? emptyLogHead;
      subscription.polledAt = now;
      if (found !== undefined && isBefore(found, deliveredBefore.get(delivery.rootTaskId))) {
        if (this.#isRemote(subscription)) delivery.rewind({ head, status });
      } else if (!delivery.setStoredHead({ head, status })) continue;
      subscription.activeAt = now;
      subscription.pollsFastUntil = now + busProbationMs;
    }
  }

  /** After a connection was lost, messages may be missing. */
  #checkBus(now: number): void {
    const isConnected = this.#bus?.isConnected === true;
    if (isConnected && !this.#wasBusConnected)
      for (const subscription of this.#subscriptions.values())
        subscription.pollsFastUntil = now + busProbationMs;
    this.#wasBusConnected = isConnected;
  }

  #isDue(subscription: TaskSubscription, now: number): boolean {
    const { polledAt, activeAt, pollsFastUntil } = subscription;
    if (!this.#isRemote(subscription)) return false;
    if (polledAt === undefined) return true;
    const hasBus = this.#bus?.isConnected === true && now >= pollsFastUntil;
    const fastMs = now - activeAt < activeMs ? pollMs.active : pollMs.idle;
    return now - polledAt >= (hasBus ? pollMs.withBus : fastMs) - timerToleranceMs;
  }

  /** Reads one page of each log with undelivered events. */
  async #readLogs(): Promise<void> {
    const lagging = [...this.#subscriptions.values()].filter(({ delivery }) => delivery.isBehind);
    for (let index = 0; index < lagging.length; index += maxConcurrentReads) {
      const reads = lagging
        .slice(index, index + maxConcurrentReads)
        .map(({ delivery }) => delivery.readNext(this.#options.log));
      const failure = (await Promise.allSettled(reads)).find(({ status }) => status === "rejected");
      if (failure?.status === "rejected") throw failure.reason;
    }
  }
}

function isBefore({ head }: Pick<LogHead, "head">, deliveredHead: number | undefined): boolean {
  return deliveredHead !== undefined && head < deliveredHead;
}
