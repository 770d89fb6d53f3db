import type { LogRow } from "@deltawire/tasks";
import type { Connection } from "./connection.ts";

export interface EventRow {
  sequence_number: number;
  json: string;
  private: string | null;
}

export function insertEvent(db: Connection, root: number, event: EventRow): void {
  db.run(
    "INSERT INTO events (root, sequence_number, json, private) VALUES (?, ?, ?, ?)",
    root,
    event.sequence_number,
    event.json,
    event.private,
  );
}

/** Answers with what stood there before. */
export function replaceEvent(db: Connection, root: number, event: EventRow): EventRow | undefined {
  const { sequence_number } = event;
  const before = db.get<EventRow>(
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
  return before;
}

export function isMentioned(db: Connection, root: number, text: string): boolean {
  const found = db.get(
    "SELECT 1 FROM events WHERE root = ? AND (instr(json, ?) > 0 OR instr(private, ?) > 0) LIMIT 1",
    root,
    text,
    text,
  );
  return found !== undefined;
}

export function eventsAfter(db: Connection, rootTaskId: string, after: number, limit: number) {
  const rows = db.all<EventRow>(
    `SELECT sequence_number, json, private FROM events
      WHERE root = (SELECT number FROM tasks WHERE task_id = ? AND root IS NULL) AND sequence_number > ?
      ORDER BY sequence_number LIMIT ?`,
    rootTaskId,
    after,
    limit,
  );
  return rows.map(({ sequence_number, json, private: hidden }): LogRow =>
    hidden === null ? { sequence_number, json } : { sequence_number, json, private: hidden },
  );
}

/** The newest one is kept. */
export function upsertSnapshot(db: Connection, root: number, asOf: number, json: string): void {
  db.run(
    `INSERT INTO snapshots (root, as_of, json) VALUES (?, ?, ?)
      ON CONFLICT (root) DO UPDATE SET as_of = excluded.as_of, json = excluded.json
      WHERE excluded.as_of >= snapshots.as_of`,
    root,
    asOf,
    json,
  );
}

/** Those that add up an event, or more than it. */
export function deleteSnapshotsFrom(db: Connection, root: number, sequenceNumber: number): void {
  db.run("DELETE FROM snapshots WHERE root = ? AND as_of >= ?", root, sequenceNumber);
}

export function newestSnapshot(
  db: Connection,
  rootTaskId: string,
): { as_of: number; json: string } | undefined {
  const row = db.get<{ as_of: number; json: string }>(
    `SELECT as_of, json FROM snapshots
      WHERE root = (SELECT number FROM tasks WHERE task_id = ? AND root IS NULL)`,
    rootTaskId,
  );
  return row && { as_of: row.as_of, json: row.json };
}
