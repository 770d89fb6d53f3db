import type { TaskInfo, TaskStatus } from "@deltawire/tasks";
import type { TaskColumns } from "../log-batch.ts";
import type { TaskFilter, TaskSummary } from "../store.ts";
import type { SqliteConnection } from "./connection.ts";

export interface RootTask {
  number: number;
  head: number;
  oldest: number;
  status: TaskStatus;
  holder: string | null;
  epoch: number;
}

export function getRootTask(db: SqliteConnection, rootTaskId: string): RootTask | undefined {
  return db.get<RootTask>(
    "SELECT number, head, oldest, status, holder, epoch FROM tasks WHERE task_id = ? AND root IS NULL",
    rootTaskId,
  );
}

export interface NewTaskRow extends TaskColumns {
  taskId: string;
  info: TaskInfo;
  /** The number of the root task. Null for a root task. */
  root: number | null;
  now: number;
}

/** Returns the number of the task, or undefined if the id belongs to another root task. */
export function insertTask(db: SqliteConnection, task: NewTaskRow): number | undefined {
  const { taskId, info, root, now } = task;
  // A sub-task may be created again for another attempt at the same call.
  return db.get<{ number: number }>(
    `INSERT INTO tasks
      (task_id, root, parent_task_id, status, agent, model, session_id, created_at, updated_at, head, oldest,
        holder, epoch, owner, reply_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, -1, 0, ?, ?, ?, ?)
      ON CONFLICT (task_id) DO UPDATE SET status = excluded.status, ended_at = NULL
      WHERE tasks.root = excluded.root
      RETURNING number`,
    taskId,
    root,
    info.parent_task_id ?? null,
    info.status,
    info.agent,
    info.model,
    info.session_id ?? null,
    info.created_at,
    now,
    task.holder,
    task.epoch,
    task.owner,
    task.replyKey,
  )?.number;
}

export function setTaskStatus(
  db: SqliteConnection,
  taskId: string,
  status: TaskStatus,
  endedAt: number | null,
  now: number,
): void {
  db.run(
    "UPDATE tasks SET status = ?, ended_at = ?, updated_at = ? WHERE task_id = ?",
    status,
    endedAt,
    now,
    taskId,
  );
}

export function setTaskHead(db: SqliteConnection, root: number, head: number, now: number): void {
  db.run("UPDATE tasks SET head = ?, updated_at = ? WHERE number = ?", head, now, root);
}

export function listUnfinishedTasks(db: SqliteConnection): string[] {
  return db
    .all<{ task_id: string }>(
      "SELECT task_id FROM tasks WHERE root IS NULL AND ended_at IS NULL ORDER BY number",
    )
    .map(({ task_id }) => task_id);
}

/** `completedSince`: an older completed task is not found. Times are in milliseconds. */
export function findTaskWithLostReply(
  db: SqliteConnection,
  replyKey: string,
  { now, completedSince }: { now: number; completedSince: number },
): string | undefined {
  return db.get<{ task_id: string }>(
    `SELECT task_id FROM tasks WHERE reply_key = ? AND root IS NULL AND (
        reply_lost = 1 AND (ended_at IS NULL OR status = 'completed' AND ended_at >= ?)
        OR ended_at IS NULL AND epoch > 0
          AND (holder IS NULL OR holder NOT IN (SELECT process_id FROM processes WHERE alive_until > ?))
      ) ORDER BY number DESC LIMIT 1`,
    replyKey,
    completedSince,
    now,
  )?.task_id;
}

export function setReplyLost(db: SqliteConnection, rootTaskId: string, isLost: boolean): void {
  db.run(
    "UPDATE tasks SET reply_lost = ? WHERE task_id = ? AND reply_key IS NOT NULL",
    isLost ? 1 : 0,
    rootTaskId,
  );
}

export function setUnfinishedRepliesLost(db: SqliteConnection): void {
  db.run(
    "UPDATE tasks SET reply_lost = 1 WHERE reply_key IS NOT NULL AND root IS NULL AND ended_at IS NULL",
  );
}

export function findRootTask(db: SqliteConnection, taskId: string): string | undefined {
  return db.get<{ id: string }>(
    `SELECT coalesce(root_task.task_id, task.task_id) AS id
      FROM tasks AS task LEFT JOIN tasks AS root_task ON root_task.number = task.root
      WHERE task.task_id = ?`,
    taskId,
  )?.id;
}

/** Lists root tasks of an owner, newest first. */
export function listTasks(db: SqliteConnection, filter: TaskFilter): TaskSummary[] {
  const { owner, before, session, status } = filter;
  const conditions = ["root IS NULL", "owner = ?"];
  const values: string[] = [owner];
  if (before !== undefined) {
    conditions.push("number < (SELECT number FROM tasks WHERE task_id = ? AND owner = ?)");
    values.push(before, owner);
  }
  if (session !== undefined) {
    conditions.push("session_id = ?");
    values.push(session);
  }
  if (status !== undefined) {
    conditions.push("status = ?");
    values.push(status);
  }
  const rows = db.all<TaskRow>(
    `SELECT task_id, status, agent, model, session_id, created_at, updated_at, head FROM tasks
      WHERE ${conditions.join(" AND ")} ORDER BY number DESC LIMIT ?`,
    ...values,
    filter.limit,
  );
  return rows.map(({ session_id, updated_at, ...rest }) => ({
    ...rest,
    ...(session_id === null ? {} : { session_id }),
    updated_at: new Date(updated_at).toISOString(),
  }));
}

type TaskRow = Omit<TaskSummary, "session_id" | "updated_at"> & {
  session_id: string | null;
  updated_at: number;
};
