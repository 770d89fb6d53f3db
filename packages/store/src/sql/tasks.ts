import type { TaskInfo, TaskStatus } from "@deltawire/tasks";
import type { TaskSummary } from "../store.ts";
import type { Connection } from "./connection.ts";

export interface RootTask {
  number: number;
  head: number;
  oldest: number;
  status: TaskStatus;
}

export function rootTask(db: Connection, rootTaskId: string): RootTask | undefined {
  return db.get<RootTask>(
    "SELECT number, head, oldest, status FROM tasks WHERE task_id = ? AND root IS NULL",
    rootTaskId,
  );
}

export interface NewTask {
  taskId: string;
  info: TaskInfo;
  /** The number of its root; null for a root. */
  root: number | null;
  now: number;
}

/** Answers with its number, or with undefined if the id belongs to a task of another root. */
export function insertTask(db: Connection, task: NewTask): number | undefined {
  const { taskId, info, root, now } = task;
  // A sub-task may be created again: another attempt at the same call.
  return db.get<{ number: number }>(
    `INSERT INTO tasks
      (task_id, root, parent_task_id, status, agent, model, session_id, created_at, updated_at, head, oldest)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, -1, 0)
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
  )?.number;
}

export function setStatus(
  db: Connection,
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

export function setHead(db: Connection, root: number, head: number, now: number): void {
  db.run("UPDATE tasks SET head = ?, updated_at = ? WHERE number = ?", head, now, root);
}

export function unfinishedTasks(db: Connection): string[] {
  return db
    .all<{ task_id: string }>(
      "SELECT task_id FROM tasks WHERE root IS NULL AND ended_at IS NULL ORDER BY number",
    )
    .map(({ task_id }) => task_id);
}

export function rootOfTask(db: Connection, taskId: string): string | undefined {
  return db.get<{ id: string }>(
    `SELECT coalesce(root_task.task_id, task.task_id) AS id
      FROM tasks AS task LEFT JOIN tasks AS root_task ON root_task.number = task.root
      WHERE task.task_id = ?`,
    taskId,
  )?.id;
}

export function insertApproval(db: Connection, approvalId: string, root: number): void {
  db.run(
    "INSERT INTO approvals (approval_id, root) VALUES (?, ?) ON CONFLICT (approval_id) DO NOTHING",
    approvalId,
    root,
  );
}

export function rootOfApproval(db: Connection, approvalId: string): string | undefined {
  return db.get<{ task_id: string }>(
    `SELECT tasks.task_id FROM approvals JOIN tasks ON tasks.number = approvals.root
      WHERE approvals.approval_id = ?`,
    approvalId,
  )?.task_id;
}

export interface TaskFilter {
  limit: number;
  before?: string;
  session?: string;
  status?: string;
}

/** Root tasks, newest first. */
export function listTasks(db: Connection, filter: TaskFilter): TaskSummary[] {
  const { before, session, status } = filter;
  const conditions = ["root IS NULL"];
  const values: string[] = [];
  if (before !== undefined) {
    conditions.push("number < (SELECT number FROM tasks WHERE task_id = ?)");
    values.push(before);
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
