import type { LogRow } from "@deltawire/tasks";
import type { EventRow } from "../log-batch.ts";
import type { PostgresConnection } from "./connection.ts";

export async function insertEvents(
  db: PostgresConnection,
  events: readonly (EventRow & { root: number })[],
): Promise<void> {
  await db.run(
    `INSERT INTO events (root, sequence_number, json, private)
      SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[])`,
    events.map(({ root }) => root),
    events.map(({ sequence_number }) => sequence_number),
    events.map(({ json }) => json),
    events.map((event) => event.private),
  );
}

/** Returns the previous row. */
export async function replaceEvent(
  db: PostgresConnection,
  root: number,
  event: EventRow,
): Promise<EventRow | undefined> {
  return db.get<{ sequence_number: number; json: string; private: string | null }>(
    `UPDATE events SET json = $3, private = $4
      FROM (SELECT * FROM events WHERE root = $1 AND sequence_number = $2 FOR UPDATE) AS previous
      WHERE events.root = previous.root AND events.sequence_number = previous.sequence_number
      RETURNING previous.sequence_number, previous.json, previous.private`,
    root,
    event.sequence_number,
    event.json,
    event.private,
  );
}

export async function eventsContain(
  db: PostgresConnection,
  root: number,
  text: string,
): Promise<boolean> {
  const match = await db.get(
    "SELECT 1 FROM events WHERE root = $1 AND (strpos(json, $2) > 0 OR strpos(private, $2) > 0) LIMIT 1",
    root,
    text,
  );
  return match !== undefined;
}

export async function listEventsAfter(
  db: PostgresConnection,
  rootTaskId: string,
  after: number,
  limit: number,
): Promise<LogRow[]> {
  const rows = await db.all<{ sequence_number: number; json: string; private: string | null }>(
    `SELECT sequence_number, json, private FROM events
      WHERE root = (SELECT number FROM tasks WHERE task_id = $1 AND root IS NULL) AND sequence_number > $2
      ORDER BY sequence_number LIMIT $3`,
    rootTaskId,
    after,
    limit,
  );
  return rows.map(({ sequence_number, json, private: privateData }): LogRow =>
    privateData === null
      ? { sequence_number, json }
      : { sequence_number, json, private: privateData },
  );
}

/** Keeps one snapshot per root task: the newest. Ignored for an unknown task. */
export async function upsertSnapshot(
  db: PostgresConnection,
  rootTaskId: string,
  asOf: number,
  json: string,
): Promise<void> {
  await db.run(
    `INSERT INTO snapshots (root, as_of, json)
      SELECT number, $2, $3 FROM tasks WHERE task_id = $1 AND root IS NULL FOR KEY SHARE
      ON CONFLICT (root) DO UPDATE SET as_of = excluded.as_of, json = excluded.json
      WHERE excluded.as_of >= snapshots.as_of`,
    rootTaskId,
    asOf,
    json,
  );
}

/** Deletes the snapshot if it includes this event. */
export async function deleteSnapshotIncluding(
  db: PostgresConnection,
  root: number,
  sequenceNumber: number,
): Promise<void> {
  await db.run("DELETE FROM snapshots WHERE root = $1 AND as_of >= $2", root, sequenceNumber);
}

export async function getSnapshot(
  db: PostgresConnection,
  rootTaskId: string,
): Promise<{ as_of: number; json: string } | undefined> {
  return db.get<{ as_of: number; json: string }>(
    `SELECT as_of, json FROM snapshots
      WHERE root = (SELECT number FROM tasks WHERE task_id = $1 AND root IS NULL)`,
    rootTaskId,
  );
}
