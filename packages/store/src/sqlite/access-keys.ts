import type {
  AccessKey,
  NewAccessKey,
  UsageAmount,
  UsagePeriod,
  UsageTotal,
} from "../access-keys.ts";
import { encodeKeyDetails, toAccessKey, type AccessKeyRow } from "../access-key-rows.ts";
import type { SqliteConnection } from "./connection.ts";

/** Returns false if a key with this name exists and has not been revoked. */
export function insertAccessKey(db: SqliteConnection, key: NewAccessKey): boolean {
  const { changes } = db.run(
    `INSERT INTO access_keys (key_id, name, owner, key_hash, session_hash, created_at, expires_at, json)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING`,
    key.id,
    key.name,
    key.owner,
    key.keyHash,
    key.sessionHash,
    key.createdAt,
    key.expiresAt ?? null,
    encodeKeyDetails(key),
  );
  return changes > 0;
}

export function listAccessKeys(db: SqliteConnection): AccessKey[] {
  return db
    .all<AccessKeyRow>("SELECT * FROM access_keys ORDER BY created_at, key_id")
    .map(toAccessKey);
}

/** Returns the key with this key hash or session hash. */
export function findAccessKey(db: SqliteConnection, hash: string): AccessKey | undefined {
  const row = db.get<AccessKeyRow>(
    "SELECT * FROM access_keys WHERE key_hash = ?1 OR session_hash = ?1",
    hash,
  );
  return row && toAccessKey(row);
}

export function hasAccessKeys(db: SqliteConnection): boolean {
  return db.get("SELECT 1 FROM access_keys LIMIT 1") !== undefined;
}

export function revokeAccessKey(db: SqliteConnection, keyId: string, revokedAt: number): boolean {
  const { changes } = db.run(
    "UPDATE access_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ?",
    revokedAt,
    keyId,
  );
  return changes > 0;
}

/** Returns false if there is no revoked key with this id. */
export function deleteAccessKey(db: SqliteConnection, keyId: string): boolean {
  const { changes } = db.run(
    "DELETE FROM access_keys WHERE key_id = ? AND revoked_at IS NOT NULL",
    keyId,
  );
  if (changes > 0) db.run("DELETE FROM usage_windows WHERE key_id = ?", keyId);
  return changes > 0;
}

/** Sets the time of last use, except for keys that were last used after `unlessUsedAfter`. */
export function touchAccessKeys(
  db: SqliteConnection,
  keyIds: readonly string[],
  { usedAt, unlessUsedAfter }: { usedAt: number; unlessUsedAfter: number },
): void {
  for (const keyId of keyIds)
    db.run(
      "UPDATE access_keys SET last_used_at = ? WHERE key_id = ? AND coalesce(last_used_at, 0) <= ?",
      usedAt,
      keyId,
      unlessUsedAfter,
    );
}

/** Adds the amounts to those of the current periods and returns the sums. Call it in a transaction. */
export function addKeyUsage(
  db: SqliteConnection,
  amounts: readonly UsageAmount[],
  now: number,
): UsageTotal[] {
  return amounts.map((usage) => {
    const { keyId, unit, period, amount } = usage;
    const row = db.get<{ window_start: number; amount: number }>(
      `INSERT INTO usage_windows (key_id, unit, period, window_start, amount) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (key_id, unit, period) DO UPDATE SET
          amount = CASE WHEN window_start >= excluded.window_start THEN amount ELSE 0 END + excluded.amount,
          window_start = max(window_start, excluded.window_start)
        RETURNING window_start, amount`,
      keyId,
      unit,
      period,
      getWindowStart(period, now),
      amount,
    );
    if (row === undefined) throw new TypeError("no row was returned");
    return { ...usage, windowStart: row.window_start, amount: row.amount };
  });
}

function getWindowStart(period: UsagePeriod, now: number): number {
  const date = new Date(now);
  if (period === "minute") return date.setUTCSeconds(0, 0);
  if (period === "month") date.setUTCDate(1);
  return date.setUTCHours(0, 0, 0, 0);
}
