import type { TaskCommand } from "@deltawire/tasks";
import type { SqliteConnection } from "./connection.ts";

export function insertCommand(
  db: SqliteConnection,
  { id, rootTaskId, json }: TaskCommand,
  now: number,
): void {
  db.run(
    `INSERT INTO commands (command_id, root_task_id, json, sent_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (command_id) DO NOTHING`,
    id,
    rootTaskId,
    json,
    now,
  );
}

/** Returns the unanswered commands to the tasks of a process, in the order in which they were sent. */
export function listUnansweredCommands(
  db: SqliteConnection,
  processId: string,
  { limit, exclude = [] }: { limit: number; exclude?: readonly string[] },
): TaskCommand[] {
  return db
    .all<{ command_id: string; root_task_id: string; json: string }>(
      `SELECT commands.command_id, commands.root_task_id, commands.json
        FROM commands JOIN tasks ON tasks.task_id = commands.root_task_id
        WHERE commands.answer IS NULL AND tasks.holder = ?
        AND commands.command_id NOT IN (SELECT value FROM json_each(?))
        ORDER BY commands.number LIMIT ?`,
      processId,
      JSON.stringify(exclude),
      limit,
    )
    .map(({ command_id: id, root_task_id: rootTaskId, json }) => ({ id, rootTaskId, json }));
}

/** Has no effect if the command has an answer. Deletes the content of the command, which is no longer needed. */
export function setCommandAnswer(db: SqliteConnection, commandId: string, answer: string): void {
  db.run(
    "UPDATE commands SET answer = ?, json = '' WHERE command_id = ? AND answer IS NULL",
    answer,
    commandId,
  );
}

export function getCommandAnswer(db: SqliteConnection, commandId: string): string | undefined {
  const row = db.get<{ answer: string | null }>(
    "SELECT answer FROM commands WHERE command_id = ?",
    commandId,
  );
  return row?.answer ?? undefined;
}

export function deleteCommandsBefore(db: SqliteConnection, time: number): void {
  db.run("DELETE FROM commands WHERE sent_at < ?", time);
}
