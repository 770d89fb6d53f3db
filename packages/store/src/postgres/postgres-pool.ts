import { DatabaseError, Pool, types, type PoolClient } from "pg";
import {
  buildClientConfig,
  createTypes,
  wrapClient,
  type PostgresConnection,
} from "./connection.ts";

export interface PostgresPoolOptions {
  url: string;
  schema: string;
  readOnly: boolean;
  maxConnections: number;
  /** How long to wait for a reply of the server, in milliseconds. */
  replyTimeoutMs: number;
  /** True: connections stay open while they are idle. Default false. */
  staysOpen?: boolean;
}

/** Maximum number of attempts for a transaction that the server aborts because of a deadlock. */
const maxAttempts = 5;

/** Connections to one schema of a database. */
export class PostgresPool {
  readonly #pool: Pool;
  /** Called in each transaction, which is rolled back if it throws. */
  guard: ((db: PostgresConnection) => Promise<void>) | undefined;

  constructor(options: PostgresPoolOptions) {
    const { url, schema, readOnly, maxConnections, replyTimeoutMs, staysOpen = false } = options;
    const settings = {
      // Less than a lease: a suspended process must not keep its tasks locked after it has lost them.
      idle_in_transaction_session_timeout: "5000",
      ...(readOnly && { default_transaction_read_only: "on" }),
    };
    const pool = new Pool({
      ...buildClientConfig(url, schema, { settings, replyTimeoutMs }),
      ...(staysOpen && { idleTimeoutMillis: 0 }),
      max: maxConnections,
      pipeline: true,
      types: createTypes(types),
    });
    // An idle connection was lost, for example by a restart of the server. The next query opens another one.
    pool.on("error", () => {});
    this.#pool = pool;
  }

  /** Runs queries without a transaction. */
  async query<Result>(work: (db: PostgresConnection) => Promise<Result>): Promise<Result> {
    return this.#withClient((client) => work(wrapClient(client)));
  }

  /** Runs the work in a transaction, which an error rolls back. */
  async run<Result>(
    work: (db: PostgresConnection) => Promise<Result>,
    options: { durable: boolean } = { durable: true },
  ): Promise<Result> {
    const { result } = await this.transaction(
      async (db) => ({ result: await work(db), rollback: false }),
      options,
    );
    return result;
  }

  /** Like `run`, but also rolls back if `rollback` of the result is true. The work is repeated if the server aborts it because of a deadlock. */
  async transaction<Result extends { rollback: boolean }>(
    work: (db: PostgresConnection) => Promise<Result>,
    options: { durable: boolean },
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await this.#transactOnce(work, options);
      } catch (error) {
        if (!isDeadlock(error) || attempt >= maxAttempts) throw error;
      }
  }

  async #transactOnce<Result extends { rollback: boolean }>(
    work: (db: PostgresConnection) => Promise<Result>,
    { durable }: { durable: boolean },
  ): Promise<Result> {
    return this.#withClient(async (client) => {
      await client.query(durable ? "BEGIN" : "BEGIN; SET LOCAL synchronous_commit = off");
      let guardError: unknown;
      try {
        const db = wrapClient(client);
        // Sent together with the first statement of the work, and awaited after it: a statement that the work sends after
        // the rollback would be committed.
        const guardCheck = this.guard?.(db);
        guardCheck?.catch((error: unknown) => {
          guardError = error;
        });
        const result = await work(db);
        await guardCheck;
        await client.query(result.rollback ? "ROLLBACK" : "COMMIT");
        return result;
      } catch (error) {
        // If the connection is lost, there is nothing to roll back, and the first error says why.
        await client.query("ROLLBACK").catch(() => {});
        throw guardError ?? error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    let failure: Error | undefined;
    const onError = (error: Error) => {
      failure = error;
    };
    client.on("error", onError);
    try {
      return await work(client);
    } finally {
      client.off("error", onError);
      client.release(failure);
    }
  }
}

/** True if the server has rolled back the transaction because it and another one waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "40P01";
}
