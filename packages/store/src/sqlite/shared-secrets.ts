import type { SqliteConnection } from "./connection.ts";

/** Stores a secret unless one with this name exists, and returns the stored one. Call it in a transaction. */
export function getOrCreateSecret(db: SqliteConnection, name: string, newValue: string): string {
  db.run(
    "INSERT INTO shared_secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
    name,
    newValue,
  );
  const row = db.get<{ value: string }>("SELECT value FROM shared_secrets WHERE name = ?", name);
  return row?.value ?? newValue;
}

export function listSecrets(db: SqliteConnection): Map<string, string> {
  const rows = db.all<{ name: string; value: string }>(
    "SELECT name, value FROM shared_secrets ORDER BY name",
  );
  return new Map(rows.map(({ name, value }) => [name, value]));
}

/** Stores a secret, or replaces it. */
export function setSecret(db: SqliteConnection, name: string, value: string): void {
  db.run(
    "INSERT INTO shared_secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    name,
    value,
  );
}
