import type { Connection } from "./connection.ts";

/** The root task that ended first, if it ended before a time. */
export function firstEnded(db: Connection, before: number): number | undefined {
  return db.get<{ number: number }>(
    `SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NOT NULL AND ended_at < ?
      ORDER BY ended_at, number LIMIT 1`,
    before,
  )?.number;
}

/** The root tasks of a session that have ended. */
export function endedTasksOf(db: Connection, sessionId: string): number[] {
  return db
    .all<{ number: number }>(
      "SELECT number FROM tasks WHERE root IS NULL AND session_id = ? AND ended_at IS NOT NULL",
      sessionId,
    )
    .map(({ number }) => number);
}

/** From here on nobody finds the task; its blobs go by `deleteBlobsOf`, its events by `deleteRemovedEvents`. */
export function removeTask(db: Connection, root: number): void {
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

/** Deletes about `limit` events of removed tasks; answers whether there may be more. */
export function deleteRemovedEvents(db: Connection, limit: number): boolean {
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

export function deleteKeysBefore(db: Connection, time: number): void {
  db.run("DELETE FROM idempotency_keys WHERE kept_at < ?", time);
}

/** Grants of sessions that are as old and have neither a chat nor a task left. */
export function deleteGrantsBefore(db: Connection, time: number): void {
  db.run(
    `DELETE FROM grants WHERE granted_at < ?
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.root IS NULL AND tasks.session_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM chats WHERE chats.chat_id = grants.session_id)`,
    time,
  );
}
