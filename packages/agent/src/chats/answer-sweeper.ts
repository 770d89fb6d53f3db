import { hasEnded } from "@deltawire/tasks";
import type { ChatStore, RunningAnswer } from "@deltawire/tasks/chats";
import { getErrorMessage } from "../event-text.ts";
import type { SharedChatStore, SweepIntervals } from "./chats-options.ts";

export interface AnswerSweeperOptions {
  store: Pick<ChatStore, "listRunningAnswers" | "claimUntitledChats"> &
    Pick<SharedChatStore, "claimJob" | "listHeads">;
  /** True if this process will store the end of the answer. */
  isFollowed: (taskId: string) => boolean;
  /** Stores the end of an answer whose task has ended. No effect if it is already stored. */
  finish: (answer: RunningAnswer) => Promise<unknown>;
  /** Ends an answer whose task never started. No effect if it has ended. */
  interrupt: (answer: RunningAnswer) => Promise<unknown>;
  /** Starts to generate the title of a chat that still has none. */
  generateTitle: (chatId: string) => void;
  onFailure: (message: string, cause: unknown) => void;
  intervals?: Partial<SweepIntervals>;
}

export const defaultIntervals: SweepIntervals = {
  check: 2000,
  search: 3000,
  ended: 1000,
  unstarted: 30_000,
  title: 120_000,
};

/** The other chats are named by the next searches. */
export const maxTitlesPerSweep = 20;

const jobName = "chats.running_answers";

/** The name of the job that a process claims again and again while it starts the task of an answer. */
export function toStartingJob(taskId: string): string {
  return `chats.starting.${taskId}`;
}

/**
 * Ends answers that are still marked as running although their process has died: those whose task has ended, and those whose
 * task was never started. One process at a time searches for them; answers that a live process is about to end are skipped.
 * Titles that a process did not store after an answer are generated once more.
 */
export class AnswerSweeper {
  readonly #options: AnswerSweeperOptions;
  readonly #intervals: SweepIntervals;
  /** When this process first saw that an answer should have ended, by task id. Contains only answers that are still running. */
  readonly #seenAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: AnswerSweeperOptions) {
    this.#options = options;
    this.#intervals = { ...defaultIntervals, ...options.intervals };
  }

  start(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sweeping;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#sweeping = this.#sweepIfDue().finally(() => this.#schedule());
    }, this.#intervals.check).unref();
  }

  async #sweepIfDue(): Promise<void> {
    try {
      const { store } = this.#options;
      if (this.#seenAt.size > 0 || (await store.claimJob(jobName, this.#intervals.search)))
        await this.#sweep();
      this.#hasFailed = false;
    } catch (error) {
      // Only the first of a series of failures is reported.
      if (!this.#hasFailed && !this.#isClosed)
        this.#options.onFailure(
          `could not search for answers of processes that have exited: ${getErrorMessage(error)}`,
          error,
        );
      this.#hasFailed = true;
    }
  }

  async #sweep(): Promise<void> {
    const { store, isFollowed, finish, interrupt, generateTitle } = this.#options;
    const answers = (await store.listRunningAnswers()).filter(
      ({ task_id }) => !isFollowed(task_id),
    );
    const heads = await store.listHeads(answers.map(({ task_id }) => task_id));
    const statuses = new Map(heads.map(({ task_id, status }) => [task_id, status]));
    const stale = answers.filter(({ task_id }) => {
      const status = statuses.get(task_id);
      return status === undefined || hasEnded(status);
    });
    const staleIds = new Set(stale.map(({ task_id }) => task_id));
    for (const taskId of this.#seenAt.keys())
      if (!staleIds.has(taskId)) this.#seenAt.delete(taskId);
    const now = performance.now();
    for (const answer of stale) {
      const { task_id } = answer;
      const seenAt = this.#seenAt.get(task_id) ?? now;
      this.#seenAt.set(task_id, seenAt);
      if (this.#isClosed) return;
      const { ended, unstarted } = this.#intervals;
      const hasTask = statuses.has(task_id);
      if (now - seenAt < (hasTask ? ended : unstarted)) continue;
      // Its process is still starting the task.
      if (!hasTask && !(await store.claimJob(toStartingJob(task_id), unstarted))) continue;
      await (hasTask ? finish(answer) : interrupt(answer));
    }
    const { title: minAgeMs } = this.#intervals;
    for (const chatId of await store.claimUntitledChats({ minAgeMs, limit: maxTitlesPerSweep }))
      generateTitle(chatId);
  }
}
