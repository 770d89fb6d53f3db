import type { LogRow } from "@deltawire/tasks";
import type { EventRow } from "../log-batch.ts";
import type { SqliteConnection } from "./connection.ts";

export function insertEvent(db: SqliteConnection, root: number, event: EventRow): void {
  db.run(
    "INSERT INTO events (root, sequence_number, json, private) VALUES (?, ?, ?, ?)",
    root,
    event.sequence_number,
    event.json,
    event.private,
  );
}

/** Returns the previous row. */
export function replaceEvent(
  db: SqliteConnection,
  root: number,
  event: EventRow,
): EventRow | undefined {
  const { sequence_number } = event;
  const previous = db.get<EventRow>(
    "SELECT sequence_number, json, private FROM events WHERE root = ? AND sequence_number = ?",
    root,
    sequence_number,
  );
  db.run(
    "UPDATE events SET json = ?, private = ? WHERE root = ? AND sequence_number = ?",
    event.json,
    event.private,
    root,
    sequence_number,
  );
  return previous;
}

export function eventsContain(db: SqliteConnection, root: number, text: string): boolean {
  const match = db.get(
    "SELECT 1 FROM events WHERE root = ? AND (instr(json, ?) > 0 OR instr(private, ?) > 0) LIMIT 1",
    root,
    text,
    text,
  );
  return match !== undefined;
}

export function listEventsAfter(
  db: SqliteConnection,
  rootTaskId: string,
  after: number,
  limit: number,
) {
  const rows = db.all<EventRow>(
    `SELECT sequence_number, json, private FROM events
      WHERE root = (SELECT number FROM tasks WHERE task_id = ? AND root IS NULL) AND sequence_number > ?
      ORDER BY sequence_number LIMIT ?`,
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

/** Stores only the newest snapshot. */
export function upsertSnapshot(
  db: SqliteConnection,
  root: number,
  asOf: number,
  json: string,
): void {
  db.run(
    `INSERT INTO snapshots (root, as_of, json) VALUES (?, ?, ?)
      ON CONFLICT (root) DO UPDATE SET as_of = excluded.as_of, json = excluded.json
      WHERE excluded.as_of >= snapshots.as_of`,
    root,
    asOf,
    json,
  );
}

/** Deletes snapshots that include this event. */
export function deleteSnapshotsFrom(
  db: SqliteConnection,
  root: number,
  sequenceNumber: number,
): void {
  db.run("DELETE FROM snapshots WHERE root = ? AND as_of >= ?", root, sequenceNumber);
}

export function getNewestSnapshot(
  db: SqliteConnection,
  rootTaskId: string,
): { as_of: number; json: string } | undefined {
  const row = db.get<{ as_of: number; json: string }>(
    `SELECT as_of, json FROM snapshots
      WHERE root = (SELECT number FROM tasks WHERE task_id = ? AND root IS NULL)`,
    rootTaskId,
  );
  return row && { as_of: row.as_of, json: row.json };
}
