import type { IdempotencyRecord } from "../store.ts";
import type { SqliteConnection } from "./connection.ts";

/**
 * Reserves a key for a request and returns the record of the request. If another request reserved the key at `expiredBefore` or
 * later, returns that record instead. Call it in a transaction.
 */
export function claimIdempotencyKey(
  db: SqliteConnection,
  key: string,
  request: IdempotencyRecord,
  { now, expiredBefore }: { now: number; expiredBefore: number },
): IdempotencyRecord {
  const existing = db.get<{ root_task_id: string; body_hash: string }>(
    "SELECT root_task_id, body_hash FROM idempotency_keys WHERE key = ? AND kept_at >= ?",
    key,
    expiredBefore,
  );
  if (existing !== undefined)
    return { rootTaskId: existing.root_task_id, bodyHash: existing.body_hash };
  db.run(
    `INSERT INTO idempotency_keys (key, body_hash, root_task_id, kept_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE
      SET body_hash = excluded.body_hash, root_task_id = excluded.root_task_id, kept_at = excluded.kept_at`,
    key,
    request.bodyHash,
    request.rootTaskId,
    now,
  );
  return request;
}
