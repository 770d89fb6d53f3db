import type { SqliteConnection } from "./connection.ts";

/**
 * Claims a periodic job. Returns false if it was already claimed within the last `intervalMs`. A claim from further than that in
 * the future is ignored, because the clock was set back.
 */
export function claimJob(
  db: SqliteConnection,
  name: string,
  { now, intervalMs }: { now: number; intervalMs: number },
): boolean {
  const { changes } = db.run(
    `INSERT INTO jobs (name, claimed_at) VALUES (?, ?)
      ON CONFLICT (name) DO UPDATE SET claimed_at = excluded.claimed_at
      WHERE jobs.claimed_at <= ? OR jobs.claimed_at > ?`,
    name,
    now,
    now - intervalMs,
    now + intervalMs,
  );
  return changes > 0;
}

export function deleteJobsBefore(db: SqliteConnection, time: number): void {
  db.run("DELETE FROM jobs WHERE claimed_at < ?", time);
}
