import type { PostgresConnection } from "./connection.ts";

/** Returns the root task that ended first among those that ended before a time. */
export async function findFirstEndedTask(
  db: PostgresConnection,
  before: number,
): Promise<number | undefined> {
  const row = await db.get<{ number: number }>(
    `SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NOT NULL AND ended_at < $1
      ORDER BY ended_at, number LIMIT 1`,
    before,
  );
  return row?.number;
}

/** Returns the ended root tasks of a session of an owner. */
export async function listEndedTasks(
  db: PostgresConnection,
  owner: string,
  sessionId: string,
): Promise<number[]> {
  const rows = await db.all<{ number: number }>(
    `SELECT number FROM tasks
      WHERE root IS NULL AND session_id = $1 AND owner = $2 AND ended_at IS NOT NULL`,
    sessionId,
    owner,
  );
  return rows.map(({ number }) => number);
}

/** Deletes a root task with its sub-tasks and events. References to blobs remain. Returns the bytes of the events. */
export async function deleteTask(db: PostgresConnection, root: number): Promise<number> {
  // Waits for transactions that add data to the task.
  await db.get("SELECT 1 FROM tasks WHERE number = $1 FOR UPDATE", root);
  const events = await db.get<{ bytes: number | null }>(
    `SELECT sum(octet_length(json) + coalesce(octet_length(private), 0))::bigint AS bytes
      FROM events WHERE root = $1`,
    root,
  );
  await db.run(
    "DELETE FROM idempotency_keys WHERE root_task_id = (SELECT task_id FROM tasks WHERE number = $1)",
    root,
  );
  for (const table of ["approvals", "snapshots", "events", "tasks"])
    await db.run(`DELETE FROM ${table} WHERE root = $1`, root);
  await db.run("DELETE FROM tasks WHERE number = $1", root);
  return events?.bytes ?? 0;
}

export async function deleteIdempotencyKeysBefore(
  db: PostgresConnection,
  time: number,
): Promise<void> {
  await db.run("DELETE FROM idempotency_keys WHERE reserved_at < $1", time);
}

/** Deletes grants from before a time if their session has neither a chat nor a task. */
export async function deleteGrantsBefore(db: PostgresConnection, time: number): Promise<void> {
  await db.run(
    `DELETE FROM grants WHERE granted_at < $1
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.root IS NULL AND tasks.session_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = grants.session_id)
      AND NOT EXISTS (SELECT 1 FROM chats WHERE chats.chat_id = grants.session_id)`,
    time,
  );
}

/** Returns the bytes of the events and blobs of all tasks, and of the messages of all chats, without indexes and free space. */
export async function sumContentBytes(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ bytes: number | null }>(
    `SELECT ((SELECT coalesce(sum(octet_length(json) + coalesce(octet_length(private), 0)), 0) FROM events)
      + (SELECT coalesce(sum(size), 0) FROM blobs)
      + (SELECT coalesce(sum(octet_length(json)), 0) FROM chat_nodes)
      + (SELECT coalesce(sum(octet_length(json)), 0) FROM chat_replays))::bigint AS bytes`,
  );
  return row?.bytes ?? 0;
}

/** Returns the bytes of all tables and indexes of the schema, including free space, and of the blobs in the bucket. */
export async function getStoredBytes(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ bytes: number | null }>(
    `SELECT (sum(pg_total_relation_size(class.oid))
        + (SELECT coalesce(sum(size), 0) FROM blobs WHERE object IS NOT NULL))::bigint AS bytes
      FROM pg_class AS class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  return row?.bytes ?? 0;
}
