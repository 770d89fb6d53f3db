import type {
  AccessKey,
  NewAccessKey,
  UsageAmount,
  UsagePeriod,
  UsageTotal,
  UsageUnit,
} from "../access-keys.ts";
import { encodeKeyDetails, toAccessKey, type AccessKeyRow } from "../access-key-rows.ts";
import type { PostgresConnection } from "./connection.ts";
import { getServerTime } from "./server-time.ts";

/**
 * Named, because a prepared statement with `*` fails after a later release has added a column: "cached plan must not change result
 * type".
 */
const columns = [
  "key_id",
  "name",
  "owner",
  "created_at",
  "expires_at",
  "revoked_at",
  "last_used_at",
  "json",
]
  .map((name) => `access_keys.${name}`)
  .join(", ");

/** Returns false if a key with this name exists and has not been revoked. */
export async function insertAccessKey(db: PostgresConnection, key: NewAccessKey): Promise<boolean> {
  const insertedRows = await db.run(
    `INSERT INTO access_keys (key_id, name, owner, key_hash, session_hash, created_at, expires_at, json)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING`,
    key.id,
    key.name,
    key.owner,
    key.keyHash,
    key.sessionHash,
    key.createdAt,
    key.expiresAt ?? null,
    encodeKeyDetails(key),
  );
  return insertedRows > 0;
}

export async function listAccessKeys(db: PostgresConnection): Promise<AccessKey[]> {
  const rows = await db.all<AccessKeyRow>(
    `SELECT ${columns} FROM access_keys ORDER BY created_at, key_id`,
  );
  return rows.map(toAccessKey);
}

/** Returns the keys whose key hash or session hash is in `hashes`. */
export async function findAccessKeys(
  db: PostgresConnection,
  hashes: readonly string[],
): Promise<{ hash: string; key: AccessKey }[]> {
  const rows = await db.all<AccessKeyRow & { hash: string }>(
    `SELECT requested.hash, ${columns} FROM unnest($1::text[]) AS requested (hash)
      JOIN access_keys ON key_hash = requested.hash
      UNION ALL
      SELECT requested.hash, ${columns} FROM unnest($1::text[]) AS requested (hash)
      JOIN access_keys ON session_hash = requested.hash`,
    hashes,
  );
  return rows.map((row) => ({ hash: row.hash, key: toAccessKey(row) }));
}

export async function hasAccessKeys(db: PostgresConnection): Promise<boolean> {
  return (await db.get("SELECT 1 FROM access_keys LIMIT 1")) !== undefined;
}

export async function revokeAccessKey(
  db: PostgresConnection,
  keyId: string,
  revokedAt: number,
): Promise<boolean> {
  const changedRows = await db.run(
    "UPDATE access_keys SET revoked_at = coalesce(revoked_at, $1) WHERE key_id = $2",
    revokedAt,
    keyId,
  );
  return changedRows > 0;
}

/** Returns false if there is no revoked key with this id. */
export async function deleteAccessKey(db: PostgresConnection, keyId: string): Promise<boolean> {
  const deletedRows = await db.run(
    "DELETE FROM access_keys WHERE key_id = $1 AND revoked_at IS NOT NULL",
    keyId,
  );
  if (deletedRows > 0) await db.run("DELETE FROM usage_windows WHERE key_id = $1", keyId);
  return deletedRows > 0;
}

/** Sets the time of last use, except for keys that were last used after `unlessUsedAfter`. */
export async function touchAccessKeys(
  db: PostgresConnection,
  keyIds: readonly string[],
  { usedAt, unlessUsedAfter }: { usedAt: number; unlessUsedAfter: number },
): Promise<void> {
  await db.run(
    "UPDATE access_keys SET last_used_at = $1 WHERE key_id = ANY ($2) AND coalesce(last_used_at, 0) <= $3",
    usedAt,
    keyIds,
    unlessUsedAfter,
  );
}

/** Adds the amounts to those of the current periods, and returns the sums and the time of the database. */
export async function addKeyUsage(
  db: PostgresConnection,
  amounts: readonly UsageAmount[],
): Promise<{ totals: UsageTotal[]; now: number }> {
  const time = getServerTime(db);
  // Sorted, so that two processes lock the rows in the same order.
  const rows = await db.all<UsageRow>(
    `INSERT INTO usage_windows AS existing (key_id, unit, period, window_start, amount)
      SELECT key_id, unit, period,
          extract(epoch FROM date_trunc(period, clock_timestamp() AT TIME ZONE 'UTC')) * 1000, amount
        FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS added (key_id, unit, period, amount)
        ORDER BY key_id, unit, period
      ON CONFLICT (key_id, unit, period) DO UPDATE SET
        amount = CASE WHEN existing.window_start >= excluded.window_start THEN existing.amount ELSE 0 END + excluded.amount,
        window_start = greatest(existing.window_start, excluded.window_start)
      RETURNING key_id, unit, period, window_start, amount`,
    amounts.map(({ keyId }) => keyId),
    amounts.map(({ unit }) => unit),
    amounts.map(({ period }) => period),
    amounts.map(({ amount }) => amount),
  );
  return { totals: rows.map(toUsageTotal), now: await time };
}

interface UsageRow {
  key_id: string;
  unit: UsageUnit;
  period: UsagePeriod;
  window_start: number;
  amount: number;
}

function toUsageTotal({ key_id, unit, period, window_start, amount }: UsageRow): UsageTotal {
  return { keyId: key_id, unit, period, windowStart: window_start, amount };
}
