import type { SqliteConnection } from "./connection.ts";

/** Returns the root task that ended first among those that ended before a time. */
export function findFirstEndedTask(db: SqliteConnection, endedBefore: number): number | undefined {
  return db.get<{ number: number }>(
    `SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NOT NULL AND ended_at < ?
      ORDER BY ended_at, number LIMIT 1`,
    endedBefore,
  )?.number;
}

/** Returns the ended root tasks of a session of an owner. */
export function listEndedTasks(db: SqliteConnection, owner: string, sessionId: string): number[] {
  return db
    .all<{ number: number }>(
      `SELECT number FROM tasks
        WHERE root IS NULL AND session_id = ? AND owner = ? AND ended_at IS NOT NULL`,
      sessionId,
      owner,
    )
    .map(({ number }) => number);
}

/**
 * Makes a task unreachable. Its blobs are then deleted with `deleteTaskBlobs`, its events with `deleteRemovedEvents`.
 */
export function removeTask(db: SqliteConnection, root: number): void {
  db.run("INSERT INTO removed_tasks (number) VALUES (?)", root);
  db.run(
    "DELETE FROM idempotency_keys WHERE root_task_id = (SELECT task_id FROM tasks WHERE number = ?)",
    root,
  );
  db.run("DELETE FROM approvals WHERE root = ?", root);
  db.run("DELETE FROM snapshots WHERE root = ?", root);
  db.run("DELETE FROM tasks WHERE root = ?", root);
  db.run("DELETE FROM tasks WHERE number = ?", root);
}

/** Deletes about `limit` events of removed tasks. Returns true if there may be more. */
export function deleteRemovedEvents(db: SqliteConnection, limit: number): boolean {
  const root = db.get<{ number: number }>("SELECT number FROM removed_tasks LIMIT 1")?.number;
  if (root === undefined) return false;
  const first = db.get<{ sequence_number: number }>(
    "SELECT sequence_number FROM events WHERE root = ? ORDER BY sequence_number LIMIT 1",
    root,
  );
  if (first === undefined) db.run("DELETE FROM removed_tasks WHERE number = ?", root);
  else
    db.run(
      "DELETE FROM events WHERE root = ? AND sequence_number < ?",
      root,
      first.sequence_number + limit,
    );
  return true;
}

export function deleteIdempotencyKeysBefore(db: SqliteConnection, time: number): void {
  db.run("DELETE FROM idempotency_keys WHERE kept_at < ?", time);
}

/** Deletes grants from before a time if their session has neither a chat nor a task. */
export function deleteGrantsBefore(db: SqliteConnection, time: number): void {
  db.run(
    `DELETE FROM grants WHERE granted_at < ?
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.root IS NULL AND tasks.session_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM chats WHERE chats.chat_id = grants.session_id)`,
    time,
  );
}
