import type { OwnedKind } from "../store.ts";
import type { PostgresConnection } from "./connection.ts";

/** Each query returns one row if data with this id belongs to this owner. */
const queries: Readonly<Record<OwnedKind, string>> = {
  task: `SELECT 1 FROM tasks AS task JOIN tasks AS root_task ON root_task.number = coalesce(task.root, task.number)
    WHERE task.task_id = $1 AND root_task.owner = $2`,
  approval: `SELECT 1 FROM approvals JOIN tasks ON tasks.number = approvals.root
    WHERE approval_id = $1 AND owner = $2`,
  chat: "SELECT 1 FROM chats WHERE chat_id = $1 AND owner = $2",
  blob: "SELECT 1 FROM blobs JOIN blob_owners USING (hash) WHERE hash = $1 AND owner = $2",
};

export async function owns(
  db: PostgresConnection,
  owner: string,
  kind: OwnedKind,
  id: string,
): Promise<boolean> {
  return (await db.get(queries[kind], id, owner)) !== undefined;
}
