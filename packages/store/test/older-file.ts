import { join } from "node:path";
import { openStore, type Store } from "@deltawire/store";
import { openForWriting } from "../src/sqlite/database.ts";
import { migrations } from "../src/sqlite/migrations.ts";
import { createTemporaryFolder } from "./test-store.ts";

/**
 * Creates a file of an earlier version that contains what `fill` stores, as far as that version has tables and columns for it.
 * Its search index is empty. `sql` runs at the end.
 */
export async function createFileOfVersion(
  version: number,
  fill: (store: Store) => Promise<unknown>,
  sql = "",
): Promise<string> {
  const folder = createTemporaryFolder();
  const currentFile = join(folder, "current.db");
  const store = await openStore({ path: currentFile });
  await fill(store);
  await store.close();
  const path = join(folder, "older.db");
  const options = { timeoutMs: 100, now: Date.now, migrations: migrations.slice(0, version) };
  const db = openForWriting(path, options);
  db.run("ATTACH ? AS current", currentFile);
  const tables = db.all<{ name: string }>(
    "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'chat_search%' AND sql NOT LIKE '%VIRTUAL%'",
  );
  for (const { name } of tables) {
    const columns = db.all<{ name: string }>("SELECT name FROM pragma_table_info(?, 'main')", name);
    const list = columns.map((column) => column.name).join(", ");
    db.execute(`INSERT OR REPLACE INTO main.${name} (${list}) SELECT ${list} FROM current.${name}`);
  }
  db.execute(sql);
  db.close();
  return path;
}
