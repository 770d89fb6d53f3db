import type { IdempotencyLease, IdempotencyRecord } from "../store.ts";
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

/** Returns false while another process holds the key, or if the key is not reserved. */
export function holdIdempotencyKey(
  db: SqliteConnection,
  key: string,
  { holder, ttlMs }: IdempotencyLease,
  now: number,
): boolean {
  const { changes } = db.run(
    `UPDATE idempotency_keys SET holder = ?, held_until = ?
      WHERE key = ? AND (holder IS NULL OR holder = ? OR held_until <= ?)`,
    holder,
    now + ttlMs,
    key,
    holder,
    now,
  );
  return changes > 0;
}

export function releaseIdempotencyKey(db: SqliteConnection, key: string, holder: string): void {
  db.run(
    "UPDATE idempotency_keys SET holder = NULL, held_until = NULL WHERE key = ? AND holder = ?",
    key,
    holder,
  );
}
