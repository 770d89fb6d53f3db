import { StoreError } from "../error.ts";
import type { SqliteConnection } from "./connection.ts";
import { setDurable } from "./pragmas.ts";

interface CommitJob {
  work: (db: SqliteConnection) => void;
  durable: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Runs writes in order. All writes of one turn of the event loop share a transaction, so that a hundred concurrent
 * tasks wait for one fsync.
 */
export class CommitQueue {
  readonly #db: SqliteConnection;
  #jobs: CommitJob[] = [];
  #isDurable: boolean | undefined;

  constructor(db: SqliteConnection) {
    this.#db = db;
  }

  /** Resolves when the work is committed. */
  enqueue<Result>(work: (db: SqliteConnection) => Result, durable: boolean): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result;
      if (this.#jobs.length === 0) setImmediate(() => this.flush());
      this.#jobs.push({
        work: (db) => {
          result = work(db);
        },
        durable,
        resolve: () => resolve(result),
        reject,
      });
    });
  }

  flush(): void {
    let jobs = this.#jobs;
    this.#jobs = [];
    while (jobs.length > 0) {
      const failedJob = this.#commit(jobs);
      jobs = failedJob === undefined ? [] : jobs.filter((job) => job !== failedJob);
    }
  }

  /** Returns the job that failed, if only one did. The others must then be retried without it. */
  #commit(jobs: readonly CommitJob[]): CommitJob | undefined {
    let current: CommitJob | undefined;
    try {
      this.#setDurable(jobs.some(({ durable }) => durable));
      this.#db.transaction(() => {
        for (current of jobs) current.work(this.#db);
        current = undefined;
      });
    } catch (error) {
      // A StoreError concerns one job. Other errors (disk, lock) concern all jobs: retrying each job would only wait for the
      // lock again.
      if (current !== undefined && error instanceof StoreError) {
        current.reject(error);
        return current;
      }
      for (const { reject } of jobs) reject(error);
      return undefined;
    }
    for (const { resolve } of jobs) resolve();
    return undefined;
  }

  #setDurable(durable: boolean): void {
    if (this.#isDurable === durable) return;
    setDurable(this.#db, durable);
    this.#isDurable = durable;
  }
}
