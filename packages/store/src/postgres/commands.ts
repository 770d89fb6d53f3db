import type { TaskCommand } from "@deltawire/tasks";
import type { PostgresConnection } from "./connection.ts";

export async function insertCommand(
  db: PostgresConnection,
  { id, rootTaskId, json }: TaskCommand,
): Promise<void> {
  await db.run(
    `INSERT INTO commands (command_id, root_task_id, json, sent_at) VALUES ($1, $2, $3, clock_timestamp())
      ON CONFLICT (command_id) DO NOTHING`,
    id,
    rootTaskId,
    json,
  );
}

/** Returns the unanswered commands to the tasks of a process, in the order in which they were sent. */
export async function listUnansweredCommands(
  db: PostgresConnection,
  processId: string,
  { limit, exclude = [] }: { limit: number; exclude?: readonly string[] },
): Promise<TaskCommand[]> {
  const rows = await db.all<{ command_id: string; root_task_id: string; json: string }>(
    `SELECT commands.command_id, commands.root_task_id, commands.json
      FROM commands JOIN tasks ON tasks.task_id = commands.root_task_id
      WHERE commands.answer IS NULL AND tasks.holder = $1 AND commands.command_id <> ALL ($3::text[])
      ORDER BY commands.number LIMIT $2`,
    processId,
    limit,
    exclude,
  );
  return rows.map(({ command_id: id, root_task_id: rootTaskId, json }) => ({
    id,
    rootTaskId,
    json,
  }));
}

/** Has no effect if the command has an answer. Deletes the content of the command, which is no longer needed. */
export async function setCommandAnswer(
  db: PostgresConnection,
  commandId: string,
  answer: string,
): Promise<void> {
  await db.run(
    "UPDATE commands SET answer = $2, json = '' WHERE command_id = $1 AND answer IS NULL",
    commandId,
    answer,
  );
}

export async function getCommandAnswer(
  db: PostgresConnection,
  commandId: string,
): Promise<string | undefined> {
  const row = await db.get<{ answer: string | null }>(
    "SELECT answer FROM commands WHERE command_id = $1",
    commandId,
  );
  return row?.answer ?? undefined;
}

/** Deletes the commands that were sent at least `ms` ago. */
export async function deleteOldCommands(db: PostgresConnection, ms: number): Promise<void> {
  await db.run(
    "DELETE FROM commands WHERE sent_at < statement_timestamp() - $1 * interval '1 millisecond'",
    ms,
  );
}
