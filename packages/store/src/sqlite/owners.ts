import type { OwnedKind } from "../store.ts";
import type { SqliteConnection } from "./connection.ts";

/** Each query returns one row if data with this id belongs to this owner. */
const queries: Readonly<Record<OwnedKind, string>> = {
  task: `SELECT 1 FROM tasks AS task JOIN tasks AS root_task ON root_task.number = coalesce(task.root, task.number)
    WHERE task.task_id = ? AND root_task.owner = ?`,
  approval: `SELECT 1 FROM approvals JOIN tasks ON tasks.number = approvals.root
    WHERE approval_id = ? AND owner = ?`,
  chat: "SELECT 1 FROM chats WHERE chat_id = ? AND owner = ?",
  blob: "SELECT 1 FROM blobs JOIN blob_owners USING (hash) WHERE hash = ? AND owner = ?",
};

export function owns(db: SqliteConnection, owner: string, kind: OwnedKind, id: string): boolean {
  return db.get(queries[kind], id, owner) !== undefined;
}
