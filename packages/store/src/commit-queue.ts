import { StoreError } from "./error.ts";
import type { Connection } from "./sql/connection.ts";
import { setDurable } from "./sql/dialect.ts";

interface Job {
  work: (db: Connection) => void;
  durable: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Writes, in the order in which they were asked for. All that comes in one turn of the event loop is one transaction,
 * so that a hundred tasks that speak at once wait for one fsync.
 */
export class CommitQueue {
  readonly #db: Connection;
  #jobs: Job[] = [];
  #isDurable: boolean | undefined;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Resolves when the work is committed. */
  add<Result>(work: (db: Connection) => Result, durable: boolean): Promise<Result> {
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
      const refused = this.#commit(jobs);
      jobs = refused === undefined ? [] : jobs.filter((job) => job !== refused);
    }
  }

  /** Answers with a job that was refused: the others are to be tried again without it. */
  #commit(jobs: readonly Job[]): Job | undefined {
    let current: Job | undefined;
    try {
      this.#setDurable(jobs.some(({ durable }) => durable));
      this.#db.transaction(() => {
        for (current of jobs) current.work(this.#db);
        current = undefined;
      });
    } catch (error) {
      // A StoreError is the fault of one job. Anything else (disk, lock) would meet each of them, and waiting for a lock
      // once is enough.
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
