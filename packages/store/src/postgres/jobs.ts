import type { PostgresConnection } from "./connection.ts";

/** Returns true if the job was last claimed at least `intervalMs` ago, or as far in the future because the clock was set back. */
export async function claimJob(
  db: PostgresConnection,
  name: string,
  intervalMs: number,
): Promise<boolean> {
  const changes = await db.run(
    `INSERT INTO jobs (name, claimed_at) VALUES ($1, statement_timestamp())
      ON CONFLICT (name) DO UPDATE SET claimed_at = excluded.claimed_at
      WHERE jobs.claimed_at <= excluded.claimed_at - $2 * interval '1 millisecond'
        OR jobs.claimed_at > excluded.claimed_at + $2 * interval '1 millisecond'`,
    name,
    intervalMs,
  );
  return changes > 0;
}

/** Deletes the jobs that were last claimed at least `ms` ago. */
export async function deleteOldJobs(db: PostgresConnection, ms: number): Promise<void> {
  await db.run(
    "DELETE FROM jobs WHERE claimed_at < statement_timestamp() - $1 * interval '1 millisecond'",
    ms,
  );
}
