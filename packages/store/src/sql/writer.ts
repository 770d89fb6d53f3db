import type { Connection } from "./connection.ts";

/** The process that may write, as far as one that may not can be told. */
export interface Writer {
  pid: number;
  since: string;
}

export function setWriter(db: Connection, writer: Writer): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('writer', ?)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    JSON.stringify(writer),
  );
}

export function writerOf(db: Connection): Writer | undefined {
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'writer'");
  return row === undefined ? undefined : (JSON.parse(row.value) as Writer);
}
