import type { Grant } from "@deltawire/tasks";
import type { SqliteConnection } from "./connection.ts";

export function listGrants(db: SqliteConnection, owner: string, sessionId: string): Grant[] {
  return db
    .all<{ tool: string; args_hash: string }>(
      `SELECT tool, args_hash FROM grants WHERE owner = ? AND session_id = ?
        ORDER BY granted_at, tool, args_hash`,
      owner,
      sessionId,
    )
    .map(({ tool, args_hash }) => (args_hash === "" ? { tool } : { tool, args_hash }));
}

export function insertGrant(
  db: SqliteConnection,
  owner: string,
  sessionId: string,
  grant: Grant,
  now: number,
): void {
  db.run(
    `INSERT INTO grants (owner, session_id, tool, args_hash, granted_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (owner, session_id, tool, args_hash) DO NOTHING`,
    owner,
    sessionId,
    grant.tool,
    grant.args_hash ?? "",
    now,
  );
}
