import type { PostgresConnection } from "./connection.ts";

/* Objects of the bucket that no blob refers to. They are recorded before they are uploaded, so that none is forgotten. */

/** Records objects to delete in `afterMs` milliseconds. */
export async function insertGarbage(
  db: PostgresConnection,
  objects: readonly string[],
  afterMs: number,
): Promise<void> {
  await db.run(
    `INSERT INTO bucket_garbage (object, delete_after)
      SELECT object, clock_timestamp() + $2 * interval '1 millisecond' FROM unnest($1::text[]) AS new (object)
      ON CONFLICT (object) DO UPDATE SET delete_after = excluded.delete_after`,
    objects,
    afterMs,
  );
}

/** Call it when a blob refers to the object, or when the object has been deleted. */
export async function deleteGarbageRecord(db: PostgresConnection, object: string): Promise<void> {
  await db.run("DELETE FROM bucket_garbage WHERE object = $1", object);
}

/** Returns objects that can be deleted. */
export async function listGarbage(db: PostgresConnection, limit: number): Promise<string[]> {
  const rows = await db.all<{ object: string }>(
    `SELECT object FROM bucket_garbage WHERE delete_after <= clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM blobs WHERE blobs.object = bucket_garbage.object)
      ORDER BY delete_after LIMIT $1`,
    limit,
  );
  return rows.map(({ object }) => object);
}
