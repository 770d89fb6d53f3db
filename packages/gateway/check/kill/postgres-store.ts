/*
 * The PostgreSQL store, for `--store packages/gateway/check/kill/postgres-store.ts`. `DELTAWIRE_CHECK_POSTGRES` is the URL of a
 * database; each folder gets a schema of its own. `check:kill -- --store postgres` starts a server and uses this module.
 */
import { createHash } from "node:crypto";
import { openStore as openPostgres, type Store } from "@deltawire/store";

export async function openStore({ folder }: { folder: string }): Promise<Store> {
  const url = process.env["DELTAWIRE_CHECK_POSTGRES"];
  if (url === undefined) throw new Error("set DELTAWIRE_CHECK_POSTGRES to the URL of a database");
  const schema = `kill_${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
  // The lock of a killed process is released when PostgreSQL notices the closed connection.
  return openPostgres({ url, schema, timeoutMs: 5000 });
}
