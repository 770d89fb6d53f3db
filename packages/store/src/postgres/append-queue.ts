/** One append, which is stored completely or rejected. */
export interface QueuedAppend<Job> {
  job: Job;
  durable: boolean;
  /** Approximate size in characters. */
  size: number;
}

/** Stores the jobs in one transaction. Returns the error of each job that was rejected; the others are stored. */
export type StoreJobs<Job> = (
  jobs: readonly Job[],
  durable: boolean,
) => Promise<ReadonlyMap<Job, Error>>;

/** Larger transactions would delay the next one. */
const maxTransactionSize = 8_000_000;

/**
 * Stores appends in their order. Those that arrive while a transaction is in progress share the next one, so that the number
 * of transactions does not grow with the number of tasks.
 */
export class AppendQueue<Job> {
  readonly #storeJobs: StoreJobs<Job>;
  #waiting: (QueuedAppend<Job> & PromiseWithResolvers<void>)[] = [];
  #running: Promise<void> | undefined;

  constructor(storeJobs: StoreJobs<Job>) {
    this.#storeJobs = storeJobs;
  }

  /** Resolves when the job is committed. */
  enqueue(append: QueuedAppend<Job>): Promise<void> {
    const entry = { ...append, ...Promise.withResolvers<void>() };
    this.#waiting.push(entry);
    // Starts in the next turn of the event loop, so that the appends of this turn share a transaction.
    this.#running ??= new Promise((resolve) => setImmediate(() => resolve(this.#run())));
    return entry.promise;
  }

  /** Resolves when all jobs have ended. */
  async flush(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#takeNext();
      try {
        const jobs = entries.map(({ job }) => job);
        const rejections = await this.#storeJobs(
          jobs,
          entries.some(({ durable }) => durable),
        );
        for (const { job, resolve, reject } of entries) {
          const rejection = rejections.get(job);
          if (rejection === undefined) resolve();
          else reject(rejection);
        }
      } catch (error) {
        for (const { reject } of entries) reject(error);
      }
    }
    this.#running = undefined;
  }

  #takeNext(): (QueuedAppend<Job> & PromiseWithResolvers<void>)[] {
    let size = 0;
    let count = 0;
    for (const entry of this.#waiting) {
      if (count > 0 && size + entry.size > maxTransactionSize) break;
      size += entry.size;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
