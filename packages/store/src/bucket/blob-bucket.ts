/** Where large blobs are stored outside the database, as objects with a name. Every method rejects with a StoreError if it fails. */
export interface BlobBucket {
  /** Blobs of at least this size are stored in it, in bytes. */
  readonly minBytes: number;
  /** Resolves when the object is stored. `hash`: the SHA-256 of the bytes, in hex. */
  put(name: string, bytes: Uint8Array, hash: string): Promise<void>;
  /** Returns undefined if there is no such object. Rejects if the bytes do not have this hash. */
  get(name: string, hash: string): Promise<Uint8Array | undefined>;
  has(name: string): Promise<boolean>;
  /** Resolves also if there is no such object. */
  delete(name: string): Promise<void>;
}
