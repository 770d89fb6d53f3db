import type { IdempotencyLease, IdempotencyRecord } from "../store.ts";
import type { PostgresConnection } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

/**
 * Reserves a key unless another request has reserved it in the last `ttlMs` milliseconds. Returns the record that now holds the
 * key.
 */
export async function claimIdempotencyKey(
  db: PostgresConnection,
  key: string,
  request: IdempotencyRecord,
  ttlMs: number,
): Promise<IdempotencyRecord> {
  // The update without a change returns the row of the other request, which may have been committed meanwhile.
  const row = await db.get<{ root_task_id: string; body_hash: string }>(
    `INSERT INTO idempotency_keys AS existing (key, body_hash, root_task_id, reserved_at) VALUES ($1, $2, $3, ${serverTimeSql})
      ON CONFLICT (key) DO UPDATE SET
        body_hash = CASE WHEN existing.reserved_at < excluded.reserved_at - $4 THEN excluded.body_hash ELSE existing.body_hash END,
        root_task_id = CASE WHEN existing.reserved_at < excluded.reserved_at - $4 THEN excluded.root_task_id ELSE existing.root_task_id END,
        reserved_at = CASE WHEN existing.reserved_at < excluded.reserved_at - $4 THEN excluded.reserved_at ELSE existing.reserved_at END
      RETURNING root_task_id, body_hash`,
    key,
    request.bodyHash,
    request.rootTaskId,
    ttlMs,
  );
  return row === undefined ? request : { rootTaskId: row.root_task_id, bodyHash: row.body_hash };
}

/** Returns false while another process holds the key, or if the key is not reserved. */
export async function holdIdempotencyKey(
  db: PostgresConnection,
  key: string,
  { holder, ttlMs }: IdempotencyLease,
): Promise<boolean> {
  const count = await db.run(
    `UPDATE idempotency_keys SET holder = $2, held_until = ${serverTimeSql} + $3
      WHERE key = $1 AND (holder IS NULL OR holder = $2 OR held_until <= ${serverTimeSql})`,
    key,
    holder,
    ttlMs,
  );
  return count > 0;
}

export async function releaseIdempotencyKey(
  db: PostgresConnection,
  key: string,
  holder: string,
): Promise<void> {
  await db.run(
    "UPDATE idempotency_keys SET holder = NULL, held_until = NULL WHERE key = $1 AND holder = $2",
    key,
    holder,
  );
}
