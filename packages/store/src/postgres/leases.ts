import type { TaskLease } from "@deltawire/tasks";
import type { PostgresConnection } from "./connection.ts";

/*
 * A task is free if it has no holder, or if the lease of its holder has expired or does not exist. All times are those of the
 * server, so that the clocks of the processes do not matter.
 */

/** Evaluated once per statement, even for rows that another transaction has changed meanwhile. */
const liveProcesses =
  "ARRAY(SELECT process_id FROM processes WHERE alive_until > statement_timestamp())";

/** Returns false if the lease had expired or did not exist. */
export async function upsertLease(
  db: PostgresConnection,
  processId: string,
  ttlMs: number,
): Promise<boolean> {
  const row = await db.get<{ was_alive: boolean }>(
    `WITH previous AS (SELECT alive_until FROM processes WHERE process_id = $1),
      renewed AS (
        INSERT INTO processes (process_id, alive_until)
          VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
          ON CONFLICT (process_id) DO UPDATE SET alive_until = excluded.alive_until
      )
      SELECT coalesce((SELECT alive_until > clock_timestamp() FROM previous), false) AS was_alive`,
    processId,
    ttlMs,
  );
  return row?.was_alive ?? false;
}

/** Claims free unfinished tasks, oldest first. Tasks to which events are being appended are left for the next call. */
export async function claimFreeTasks(
  db: PostgresConnection,
  processId: string,
  { limit, exclude = [] }: { limit: number; exclude?: readonly string[] },
): Promise<TaskLease[]> {
  return claim(
    db,
    `task_id <> ALL ($3::text[]) AND (holder IS NULL OR holder <> ALL (${liveProcesses}))
      ORDER BY number LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED`,
    processId,
    limit,
    exclude,
  );
}

/** Claims those of the tasks that are free or already held by the process. */
export async function claimTasks(
  db: PostgresConnection,
  processId: string,
  options: { taskIds: readonly string[]; limit: number; exclude?: readonly string[] },
): Promise<TaskLease[]> {
  const { taskIds, limit, exclude = [] } = options;
  return claim(
    db,
    `task_id = ANY ($3::text[]) AND task_id <> ALL ($4::text[]) AND (holder IS NULL OR holder = $1 OR holder <> ALL (${liveProcesses}))
      ORDER BY number LIMIT $2 FOR NO KEY UPDATE`,
    processId,
    limit,
    taskIds,
    exclude,
  );
}

async function claim(
  db: PostgresConnection,
  condition: string,
  processId: string,
  ...values: (number | readonly string[])[]
): Promise<TaskLease[]> {
  const rows = await db.all<{ task_id: string; epoch: number }>(
    `WITH free AS (
        SELECT number FROM tasks
          WHERE root IS NULL AND ended_at IS NULL AND $1 = ANY (${liveProcesses}) AND ${condition}
      ), claimed AS (
        UPDATE tasks SET reply_lost = CASE WHEN holder = $1 THEN reply_lost ELSE 1 END, holder = $1, epoch = epoch + 1
          FROM free WHERE tasks.number = free.number
          RETURNING tasks.number, tasks.task_id, tasks.epoch
      )
      SELECT task_id, epoch FROM claimed ORDER BY number`,
    processId,
    ...values,
  );
  return rows.map(({ task_id: taskId, epoch }) => ({ taskId, epoch }));
}

export async function listLeases(db: PostgresConnection, processId: string): Promise<TaskLease[]> {
  const rows = await db.all<{ task_id: string; epoch: number }>(
    "SELECT task_id, epoch FROM tasks WHERE root IS NULL AND ended_at IS NULL AND holder = $1 ORDER BY number",
    processId,
  );
  return rows.map(({ task_id: taskId, epoch }) => ({ taskId, epoch }));
}

/** Releases the unfinished tasks of a process: all, or those with these ids. */
export async function releaseTasks(
  db: PostgresConnection,
  processId: string,
  taskIds?: readonly string[],
): Promise<void> {
  // Locked in the order in which appends lock them.
  await db.run(
    `WITH held AS (
        SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NULL AND holder = $1
          AND ($2::text[] IS NULL OR task_id = ANY ($2)) ORDER BY number FOR NO KEY UPDATE
      )
      UPDATE tasks SET holder = NULL FROM held WHERE tasks.number = held.number`,
    processId,
    taskIds ?? null,
  );
}

export async function deleteLease(db: PostgresConnection, processId: string): Promise<void> {
  await db.run("DELETE FROM processes WHERE process_id = $1", processId);
}

/** Deletes the leases that expired at least `ms` ago. */
export async function deleteExpiredLeases(db: PostgresConnection, ms: number): Promise<void> {
  await db.run(
    "DELETE FROM processes WHERE alive_until < statement_timestamp() - $1 * interval '1 millisecond'",
    ms,
  );
}
