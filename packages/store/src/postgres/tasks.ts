import { hasEnded, type TaskInfo, type TaskStatus } from "@deltawire/tasks";
import type { TaskColumns } from "../log-batch.ts";
import type { TaskFilter, TaskHead, TaskSummary } from "../store.ts";
import { decodeText, type PostgresConnection, type SqlValue } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

export interface RootTaskRow {
  number: number;
  task_id: string;
  head: number;
  holder: string | null;
  epoch: number;
}

/** Returns the root tasks with these ids, locked until the end of the transaction. */
export async function lockRootTasks(
  db: PostgresConnection,
  rootTaskIds: readonly string[],
): Promise<RootTaskRow[]> {
  return db.all<RootTaskRow>(
    `SELECT number, task_id, head, holder, epoch FROM tasks WHERE task_id = ANY($1::text[]) AND root IS NULL
      ORDER BY number FOR UPDATE`,
    rootTaskIds,
  );
}

export async function getTaskHead(
  db: PostgresConnection,
  rootTaskId: string,
): Promise<TaskHead | undefined> {
  return db.get<{ head: number; oldest: number; status: TaskStatus }>(
    "SELECT head, oldest, status FROM tasks WHERE task_id = $1 AND root IS NULL",
    rootTaskId,
  );
}

/** Unknown tasks are left out. */
export async function listTaskHeads(
  db: PostgresConnection,
  rootTaskIds: readonly string[],
): Promise<(TaskHead & { task_id: string })[]> {
  return db.all<TaskHead & { task_id: string }>(
    "SELECT task_id, head, oldest, status FROM tasks WHERE task_id = ANY($1::text[]) AND root IS NULL",
    rootTaskIds,
  );
}

export interface NewTaskRow extends TaskColumns {
  taskId: string;
  info: TaskInfo;
  /** The number of the root task. Null for a root task. */
  root: number | null;
  status: TaskStatus;
}

/**
 * Inserts tasks. A sub-task may be created again, for another attempt at the same call. Returns the stored tasks: those
 * whose id belongs to a task of another root are missing.
 */
export async function insertTasks(
  db: PostgresConnection,
  tasks: readonly NewTaskRow[],
): Promise<RootTaskRow[]> {
  return db.all<RootTaskRow>(
    `INSERT INTO tasks
      (task_id, root, parent_task_id, status, agent, model, session_id, created_at, updated_at, ended_at, head, oldest,
        holder, epoch, owner, reply_key)
      SELECT task_id, root, parent_task_id, status, agent, model, session_id, created_at, ${serverTimeSql}, CASE WHEN has_ended THEN ${serverTimeSql} END, -1, 0,
          holder, epoch, owner, reply_key
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
          $9::boolean[], $10::text[], $11::bigint[], $12::text[], $13::text[])
        AS new (task_id, root, parent_task_id, status, agent, model, session_id, created_at, has_ended,
          holder, epoch, owner, reply_key)
      ON CONFLICT (task_id) DO UPDATE
      SET status = excluded.status, ended_at = excluded.ended_at, updated_at = excluded.updated_at
      WHERE tasks.root = excluded.root
      RETURNING number, task_id, head, holder, epoch`,
    tasks.map(({ taskId }) => taskId),
    tasks.map(({ root }) => root),
    tasks.map(({ info }) => info.parent_task_id ?? null),
    tasks.map(({ status }) => status),
    tasks.map(({ info }) => info.agent),
    tasks.map(({ info }) => info.model),
    tasks.map(({ info }) => info.session_id ?? null),
    tasks.map(({ info }) => info.created_at),
    tasks.map(({ status }) => hasEnded(status)),
    tasks.map(({ holder }) => holder),
    tasks.map(({ epoch }) => epoch),
    tasks.map(({ owner }) => owner),
    tasks.map(({ replyKey }) => replyKey),
  );
}

export interface TaskStatusChange {
  taskId: string;
  status: TaskStatus;
}

export async function setTaskStatuses(
  db: PostgresConnection,
  changes: readonly TaskStatusChange[],
): Promise<void> {
  await db.run(
    `UPDATE tasks SET status = new.status, updated_at = ${serverTimeSql},
        ended_at = CASE WHEN new.has_ended THEN ${serverTimeSql} END
      FROM unnest($1::text[], $2::text[], $3::boolean[]) AS new (task_id, status, has_ended)
      WHERE tasks.task_id = new.task_id`,
    changes.map(({ taskId }) => taskId),
    changes.map(({ status }) => status),
    changes.map(({ status }) => hasEnded(status)),
  );
}

export async function setTaskHeads(
  db: PostgresConnection,
  heads: ReadonlyMap<number, number>,
): Promise<void> {
  await db.run(
    `UPDATE tasks SET head = new.head, updated_at = ${serverTimeSql}
      FROM unnest($1::bigint[], $2::integer[]) AS new (number, head) WHERE tasks.number = new.number`,
    [...heads.keys()],
    [...heads.values()],
  );
}

export async function listUnfinishedTasks(db: PostgresConnection): Promise<string[]> {
  const rows = await db.all<{ task_id: string }>(
    "SELECT task_id FROM tasks WHERE root IS NULL AND ended_at IS NULL ORDER BY number",
  );
  return rows.map(({ task_id }) => task_id);
}

/** `maxAgeMs`: tasks that completed earlier are not found. */
export async function findTaskWithLostReply(
  db: PostgresConnection,
  replyKey: string,
  maxAgeMs: number,
): Promise<string | undefined> {
  const row = await db.get<{ task_id: string }>(
    `SELECT task_id FROM tasks WHERE reply_key = $1 AND root IS NULL AND (
        reply_lost = 1 AND (ended_at IS NULL OR status = 'completed' AND ended_at >= ${serverTimeSql} - $2)
        OR ended_at IS NULL AND epoch > 0 AND (holder IS NULL OR holder <> ALL (
          ARRAY(SELECT process_id FROM processes WHERE alive_until > statement_timestamp())))
      ) ORDER BY number DESC LIMIT 1`,
    replyKey,
    maxAgeMs,
  );
  return row?.task_id;
}

export async function setReplyLost(
  db: PostgresConnection,
  rootTaskId: string,
  isLost: boolean,
): Promise<void> {
  await db.run(
    "UPDATE tasks SET reply_lost = $2 WHERE task_id = $1 AND reply_key IS NOT NULL",
    rootTaskId,
    isLost ? 1 : 0,
  );
}

export async function setUnfinishedRepliesLost(db: PostgresConnection): Promise<void> {
  await db.run(
    "UPDATE tasks SET reply_lost = 1 WHERE reply_key IS NOT NULL AND root IS NULL AND ended_at IS NULL",
  );
}

export async function findRootTask(
  db: PostgresConnection,
  taskId: string,
): Promise<string | undefined> {
  const row = await db.get<{ id: string }>(
    `SELECT coalesce(root_task.task_id, task.task_id) AS id
      FROM tasks AS task LEFT JOIN tasks AS root_task ON root_task.number = task.root
      WHERE task.task_id = $1`,
    taskId,
  );
  return row?.id;
}

/** Lists root tasks of an owner, newest first. */
export async function listTasks(
  db: PostgresConnection,
  { owner, limit, before, session, status }: TaskFilter,
): Promise<TaskSummary[]> {
  const values: SqlValue[] = [owner];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const conditions = ["root IS NULL", "owner = $1"];
  if (before !== undefined)
    conditions.push(
      `number < (SELECT number FROM tasks WHERE task_id = ${bind(before)} AND owner = $1)`,
    );
  if (session !== undefined) conditions.push(`session_id = ${bind(session)}`);
  if (status !== undefined) conditions.push(`status = ${bind(status)}`);
  const rows = await db.all<TaskRow>(
    `SELECT task_id, status, agent, model, session_id, created_at, updated_at, head FROM tasks
      WHERE ${conditions.join(" AND ")} ORDER BY number DESC LIMIT ${bind(limit)}`,
    ...values,
  );
  return rows.map(({ agent, model, session_id, updated_at, ...rest }) => ({
    ...rest,
    agent: decodeText(agent),
    model: decodeText(model),
    ...(session_id === null ? {} : { session_id: decodeText(session_id) }),
    updated_at: new Date(updated_at).toISOString(),
  }));
}

type TaskRow = Omit<TaskSummary, "session_id" | "updated_at"> & {
  session_id: string | null;
  updated_at: number;
};
