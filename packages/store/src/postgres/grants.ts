import type { Grant } from "@deltawire/tasks";
import { decodeText, type PostgresConnection } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

export async function listGrants(
  db: PostgresConnection,
  owner: string,
  sessionId: string,
): Promise<Grant[]> {
  const rows = await db.all<{ tool: string; args_hash: string }>(
    `SELECT tool, args_hash FROM grants WHERE owner = $1 AND session_id = $2
      ORDER BY granted_at, tool, args_hash`,
    owner,
    sessionId,
  );
  return rows.map(({ tool, args_hash }) =>
    args_hash === ""
      ? { tool: decodeText(tool) }
      : { tool: decodeText(tool), args_hash: decodeText(args_hash) },
  );
}

export async function insertGrant(
  db: PostgresConnection,
  owner: string,
  sessionId: string,
  grant: Grant,
): Promise<void> {
  await db.run(
    `INSERT INTO grants (owner, session_id, tool, args_hash, granted_at) VALUES ($1, $2, $3, $4, ${serverTimeSql})
      ON CONFLICT (owner, session_id, tool, args_hash) DO NOTHING`,
    owner,
    sessionId,
    grant.tool,
    grant.args_hash ?? "",
  );
}
