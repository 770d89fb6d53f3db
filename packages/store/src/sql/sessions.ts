import type { Grant } from "@deltawire/tasks";
import type { Connection } from "./connection.ts";

export function grantsOf(db: Connection, sessionId: string): Grant[] {
  return db
    .all<{ tool: string; args_hash: string }>(
      "SELECT tool, args_hash FROM grants WHERE session_id = ? ORDER BY granted_at, tool, args_hash",
      sessionId,
    )
    .map(({ tool, args_hash }) => (args_hash === "" ? { tool } : { tool, args_hash }));
}

export function insertGrant(db: Connection, sessionId: string, grant: Grant, now: number): void {
  db.run(
    `INSERT INTO grants (session_id, tool, args_hash, granted_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (session_id, tool, args_hash) DO NOTHING`,
    sessionId,
    grant.tool,
    grant.args_hash ?? "",
    now,
  );
}

export interface KeptKey {
  rootTaskId: string;
  bodyHash: string;
}

/** The first to come with a key keeps it, until it is older than `expired`. */
export function keepKey(
  db: Connection,
  key: string,
  wanted: KeptKey,
  times: { now: number; expired: number },
): KeptKey {
  const kept = db.get<KeptKey>(
    `INSERT INTO idempotency_keys AS kept (key, body_hash, root_task_id, kept_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE
      SET body_hash = excluded.body_hash, root_task_id = excluded.root_task_id, kept_at = excluded.kept_at
      WHERE kept.kept_at < ?
      RETURNING body_hash AS "bodyHash", root_task_id AS "rootTaskId"`,
    key,
    wanted.bodyHash,
    wanted.rootTaskId,
    times.now,
    times.expired,
  );
  const { bodyHash, rootTaskId } = kept ?? keyOf(db, key) ?? wanted;
  return { bodyHash, rootTaskId };
}

function keyOf(db: Connection, key: string): KeptKey | undefined {
  return db.get<KeptKey>(
    `SELECT body_hash AS "bodyHash", root_task_id AS "rootTaskId" FROM idempotency_keys WHERE key = ?`,
    key,
  );
}
