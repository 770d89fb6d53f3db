import type { TaskLease } from "@deltawire/tasks";
import type { SqliteConnection } from "./connection.ts";

/* A task is free if it has no holder, or if the lease of its holder has expired or does not exist. */

/** Returns false if the lease had expired or did not exist. */
export function upsertLease(
  db: SqliteConnection,
  processId: string,
  { now, ttlMs }: { now: number; ttlMs: number },
): boolean {
  const wasAlive = isAlive(db, processId, now);
  db.run(
    `INSERT INTO processes (process_id, alive_until) VALUES (?, ?)
      ON CONFLICT (process_id) DO UPDATE SET alive_until = excluded.alive_until`,
    processId,
    now + ttlMs,
  );
  return wasAlive;
}

/** Claims free unfinished tasks, oldest first. Call it in a transaction. */
export function claimFreeTasks(
  db: SqliteConnection,
  processId: string,
  { limit, exclude = [], now }: { limit: number; exclude?: readonly string[]; now: number },
): TaskLease[] {
  if (!isAlive(db, processId, now)) return [];
  const tasks = db.all<{ number: number }>(
    `SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NULL
      AND task_id NOT IN (SELECT value FROM json_each(?))
      AND (holder IS NULL OR holder NOT IN (SELECT process_id FROM processes WHERE alive_until > ?))
      ORDER BY number LIMIT ?`,
    JSON.stringify(exclude),
    now,
    limit,
  );
  return tasks.flatMap(({ number }) => setHolder(db, number, processId));
}

/** Claims those of the tasks that are free or already held by the process. Call it in a transaction. */
export function claimTasks(
  db: SqliteConnection,
  processId: string,
  options: { taskIds: readonly string[]; limit: number; exclude?: readonly string[]; now: number },
): TaskLease[] {
  const { taskIds, limit, exclude = [], now } = options;
  if (!isAlive(db, processId, now)) return [];
  const candidateIds = taskIds.filter((taskId) => !exclude.includes(taskId));
  const numbers = candidateIds.flatMap((taskId) => {
    const task = db.get<{ number: number }>(
      `SELECT number FROM tasks WHERE task_id = ? AND root IS NULL AND ended_at IS NULL
        AND (holder IS NULL OR holder = ? OR holder NOT IN (SELECT process_id FROM processes WHERE alive_until > ?))`,
      taskId,
      processId,
      now,
    );
    return task === undefined ? [] : [task.number];
  });
  return [...new Set(numbers)]
    .toSorted((a, b) => a - b)
    .slice(0, limit)
    .flatMap((number) => setHolder(db, number, processId));
}

function isAlive(db: SqliteConnection, processId: string, now: number): boolean {
  const lease = db.get(
    "SELECT 1 FROM processes WHERE process_id = ? AND alive_until > ?",
    processId,
    now,
  );
  return lease !== undefined;
}

function setHolder(db: SqliteConnection, number: number, processId: string): TaskLease[] {
  return db
    .all<{ task_id: string; epoch: number }>(
      `UPDATE tasks SET reply_lost = CASE WHEN holder = ?1 THEN reply_lost ELSE 1 END, holder = ?1, epoch = epoch + 1 WHERE number = ?2
        RETURNING task_id, epoch`,
      processId,
      number,
    )
    .map(({ task_id: taskId, epoch }) => ({ taskId, epoch }));
}

export function listLeases(db: SqliteConnection, processId: string): TaskLease[] {
  return db
    .all<{ task_id: string; epoch: number }>(
      "SELECT task_id, epoch FROM tasks WHERE root IS NULL AND ended_at IS NULL AND holder = ? ORDER BY number",
      processId,
    )
    .map(({ task_id: taskId, epoch }) => ({ taskId, epoch }));
}

/** Releases the unfinished tasks of a process. */
export function releaseAllTasks(db: SqliteConnection, processId: string): void {
  db.run(
    "UPDATE tasks SET holder = NULL WHERE root IS NULL AND ended_at IS NULL AND holder = ?",
    processId,
  );
}

export function releaseTask(db: SqliteConnection, processId: string, taskId: string): void {
  db.run(
    "UPDATE tasks SET holder = NULL WHERE task_id = ? AND holder = ? AND ended_at IS NULL",
    taskId,
    processId,
  );
}

export function deleteLease(db: SqliteConnection, processId: string): void {
  db.run("DELETE FROM processes WHERE process_id = ?", processId);
}

export function deleteLeasesBefore(db: SqliteConnection, time: number): void {
  db.run("DELETE FROM processes WHERE alive_until < ?", time);
}

/** Ends the leases of all processes. Call it when the store is opened for writing: no other process has it open. */
export function deleteAllLeases(db: SqliteConnection): void {
  db.run("DELETE FROM processes");
}
