import type { SqliteConnection } from "./connection.ts";

/** The process that has the store open for writing, for error messages. */
export interface WriterProcess {
  pid: number;
  since: string;
}

export function setWriter(db: SqliteConnection, writer: WriterProcess): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('writer', ?)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    JSON.stringify(writer),
  );
}

export function getWriter(db: SqliteConnection): WriterProcess | undefined {
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'writer'");
  return row === undefined ? undefined : (JSON.parse(row.value) as WriterProcess);
}
