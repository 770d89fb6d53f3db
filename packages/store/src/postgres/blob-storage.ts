import { randomUUID } from "node:crypto";
import type { StoredBlob } from "@deltawire/tasks";
import type { BlobBucket } from "../bucket/blob-bucket.ts";
import { StoreError } from "../error.ts";
import { dayMs } from "../retention-options.ts";
import { getBlob, insertBlobOwner, touchBlob, upsertBlob, type NewBlobRow } from "./blobs.ts";
import { deleteGarbageRecord, insertGarbage, listGarbage } from "./bucket-garbage.ts";
import type { PostgresConnection } from "./connection.ts";
import type { PostgresPool } from "./postgres-pool.ts";

export interface BlobStorageOptions {
  pool: PostgresPool;
  /** Undefined: new blobs are stored in rows. */
  bucket: BlobBucket | undefined;
  warn: (message: string) => void;
}

/** No upload takes longer. */
const maxUploadMs = dayMs;
const garbagePerQuery = 100;

/**
 * Stores blobs as rows, and large ones as objects in a bucket. An object is stored before its row and deleted after it, so that a
 * crash leaves at most objects without a row. Each upload has a name of its own: deleting one cannot affect another upload of the
 * same bytes.
 */
export class BlobStorage {
  readonly #options: BlobStorageOptions;

  constructor(options: BlobStorageOptions) {
    this.#options = options;
  }

  async put(
    blob: Omit<NewBlobRow, "object"> & { bytes: Uint8Array },
    owner: string,
  ): Promise<void> {
    const { pool, bucket } = this.#options;
    const { hash, bytes, putAt } = blob;
    if (bucket === undefined || bytes.length < bucket.minBytes)
      return pool.run(async (db) => {
        if ((await touchBlob(db, hash, putAt)) === undefined)
          await upsertBlob(db, { ...blob, object: null });
        await insertBlobOwner(db, owner, hash);
      });
    const existing = await pool.run(async (db) => {
      const row = await touchBlob(db, hash, putAt);
      if (row !== undefined) await insertBlobOwner(db, owner, hash);
      return row;
    });
    const replacedObject = existing?.object ?? null;
    // An object may be missing after its bucket was restored from a backup.
    if (existing !== undefined && (replacedObject === null || (await bucket.has(replacedObject))))
      return;
    await this.upload(bucket, blob, (db, row) =>
      Promise.all([upsertBlob(db, row, replacedObject), insertBlobOwner(db, owner, hash)]).then(
        ([object]) => object,
      ),
    );
  }

  /** Stores the bytes in the bucket, then the row. `insert` returns the object that the row refers to. */
  async upload(
    bucket: BlobBucket,
    blob: Omit<NewBlobRow, "object"> & { bytes: Uint8Array },
    insert: (db: PostgresConnection, row: NewBlobRow) => Promise<string | null | undefined>,
  ): Promise<void> {
    const { pool } = this.#options;
    const object = `${blob.hash}-${randomUUID()}`;
    await pool.run((db) => insertGarbage(db, [object], maxUploadMs));
    await bucket.put(object, blob.bytes, blob.hash);
    await pool.run(async (db) => {
      const storedObject = await insert(db, { ...blob, bytes: null, object });
      // Another process may have stored the same bytes meanwhile.
      if (storedObject === object) await deleteGarbageRecord(db, object);
      else await insertGarbage(db, [object], 0);
    });
  }

  async get(owner: string, hash: string): Promise<StoredBlob | undefined> {
    const row = await this.#options.pool.query((db) => getBlob(db, owner, hash));
    if (row === undefined) return undefined;
    const bytes = row.bytes ?? (await this.download(hash, row.object));
    if (bytes !== undefined) return { bytes, mediaType: row.media_type };
    this.#options.warn(
      `the object ${row.object} of the bucket is missing; restore it from a backup`,
    );
    return undefined;
  }

  /** Returns undefined if there is no such object. */
  async download(hash: string, object: string | null): Promise<Uint8Array | undefined> {
    if (object === null) return undefined;
    const { bucket } = this.#options;
    if (bucket === undefined)
      throw new StoreError(
        "store_unreachable",
        `the blob ${hash} is in a bucket, and none is configured; set store.s3_url to the bucket in which it was stored`,
      );
    return bucket.get(object, hash);
  }

  /** Deletes the objects without a row. Those that cannot be deleted are left for the next call, with a warning. */
  async deleteGarbage(): Promise<void> {
    const { pool, bucket, warn } = this.#options;
    if (bucket === undefined) return;
    try {
      for (let objects: string[] | undefined; objects === undefined || objects.length > 0;) {
        objects = await pool.query((db) => listGarbage(db, garbagePerQuery));
        for (const object of objects) {
          await bucket.delete(object);
          await pool.run((db) => deleteGarbageRecord(db, object), { durable: false });
        }
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      warn(`unused objects were not deleted: ${error.message}`);
    }
  }
}
