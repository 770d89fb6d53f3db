import { decodeText, type PostgresConnection } from "./connection.ts";

/** Stores a secret unless one with this name exists, and returns the stored one. */
export async function getOrCreateSecret(
  db: PostgresConnection,
  name: string,
  newValue: string,
): Promise<string> {
  // The update without a change returns the row of another process, which may have been committed meanwhile.
  const row = await db.get<{ value: string }>(
    `INSERT INTO shared_secrets AS existing (name, value) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET value = existing.value RETURNING value`,
    name,
    newValue,
  );
  return row === undefined ? newValue : decodeText(row.value);
}

export async function listSecrets(db: PostgresConnection): Promise<Map<string, string>> {
  const rows = await db.all<{ name: string; value: string }>(
    "SELECT name, value FROM shared_secrets ORDER BY name",
  );
  return new Map(rows.map(({ name, value }) => [decodeText(name), decodeText(value)]));
}

/** Stores a secret, or replaces it. */
export async function setSecret(
  db: PostgresConnection,
  name: string,
  value: string,
): Promise<void> {
  await db.run(
    `INSERT INTO shared_secrets (name, value) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    name,
    value,
  );
}
