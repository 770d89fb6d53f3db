import type { MessageBus } from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import { busChannels } from "./bus-channels.ts";
import type { ClusterStore } from "./cluster-options.ts";

export interface RemoteApprovalsOptions {
  store: Pick<ClusterStore, "getPendingApprovalsDigest" | "listPendingApprovals">;
  bus?: MessageBus | undefined;
  /** True if this process runs the task. */
  isLocal: (rootTaskId: string) => boolean;
  /**
   * Called when the pending approvals of tasks that other processes run may have changed, with the owners of these tasks;
   * undefined if they are unknown.
   */
  onChanged: (owners: ReadonlySet<string> | undefined) => void;
  onFailure: (message: string, cause: unknown) => void;
}

type ListedApproval = Awaited<ReturnType<ClusterStore["listPendingApprovals"]>>[number];

const pollMs = { withoutBus: 200, withBus: 1500, afterFailure: 1000 };
/** The pause after reading, as a multiple of the time that it took: many pending approvals are read less often. */
const pauseFactor = 10;

/** Watches the pending approvals of tasks that other processes run, between `start` and `stop`. */
export class RemoteApprovals {
  readonly #options: RemoteApprovalsOptions;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The digest of `#pending`. Undefined before it is first read. */
  #digest: string | undefined;
  /** The pending approvals by id. */
  #pending: ReadonlyMap<string, ListedApproval> | undefined;
  #isRunning = false;
  #isPolling = false;
  #mustPollAgain = false;
  #hasFailed = false;

  constructor(options: RemoteApprovalsOptions) {
    this.#options = options;
  }

  /** Also reports a change of unknown owners when the approvals are first read, because they may have changed before. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#digest = undefined;
    this.#pending = undefined;
    this.#unsubscribe = this.#options.bus?.subscribe(busChannels.approvals, () => this.#pollNow());
    this.#pollNow();
  }

  stop(): void {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    this.#unsubscribe?.();
  }

  /** Must be called when the pending approvals of a task of this process have changed. */
  announce(): void {
    this.#options.bus?.publish(busChannels.approvals, "");
  }

  #pollNow(): void {
    clearTimeout(this.#timer);
    if (this.#isPolling) this.#mustPollAgain = true;
    else void this.#poll();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    this.#mustPollAgain = false;
    const startedAt = performance.now();
    try {
      await this.#readIfChanged();
      this.#hasFailed = false;
    } catch (error) {
      this.#report(error);
    }
    this.#isPolling = false;
    if (this.#isRunning) this.#schedule((performance.now() - startedAt) * pauseFactor);
  }

  async #readIfChanged(): Promise<void> {
    const { store, onChanged } = this.#options;
    const digest = await store.getPendingApprovalsDigest();
    if (digest === this.#digest) return;
    const listed = await store.listPendingApprovals();
    const pending = new Map(listed.map((approval) => [approval.approvalId, approval]));
    const owners = this.#pending && this.#listChangedOwners(this.#pending, pending);
    if (this.#isRunning && owners?.size !== 0) onChanged(owners);
    this.#digest = digest;
    this.#pending = pending;
  }

  /** Returns the owners of approvals that were added or removed, of tasks that other processes run. */
  #listChangedOwners(
    before: ReadonlyMap<string, ListedApproval>,
    after: ReadonlyMap<string, ListedApproval>,
  ): Set<string> {
    const changed = [
      ...[...before.values()].filter(({ approvalId }) => !after.has(approvalId)),
      ...[...after.values()].filter(({ approvalId }) => !before.has(approvalId)),
    ];
    const remote = changed.filter(({ rootTaskId }) => !this.#options.isLocal(rootTaskId));
    return new Set(remote.map(({ owner }) => owner));
  }

  #schedule(minDelayMs: number): void {
    if (this.#mustPollAgain) return this.#pollNow();
    const { withoutBus, withBus, afterFailure } = pollMs;
    const delayMs = this.#options.bus?.isConnected === true ? withBus : withoutBus;
    this.#timer = setTimeout(
      () => void this.#poll(),
      Math.max(delayMs, minDelayMs, this.#hasFailed ? afterFailure : 0),
    ).unref();
  }

  /** Reports only the first of a series of failures. */
  #report(error: unknown): void {
    if (!this.#hasFailed && this.#isRunning)
      this.#options.onFailure(
        `could not read the pending approvals of other processes: ${getErrorMessage(error)}`,
        error,
      );
    this.#hasFailed = true;
  }
}
