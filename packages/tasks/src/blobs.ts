export interface StoredBlob {
  bytes: Uint8Array;
  mediaType: string;
}

/**
 * Stores images and files by content; equal bytes are stored once. A blob can be read by every owner that has stored it.
 * `owner`: default "".
 */
export interface BlobStore {
  /**
   * Returns the SHA-256 of the bytes, in hex. `unusedMs`: how long the blob is stored while no task and no chat refers to it;
   * default and minimum: one hour.
   */
  put(
    bytes: Uint8Array,
    mediaType: string,
    options?: { unusedMs?: number; owner?: string },
  ): Promise<string>;
  get(hash: string, options?: { owner?: string }): Promise<StoredBlob | undefined>;
}

/** Returns a store that reads and writes the blobs of one owner. */
export function scopeBlobs(blobs: BlobStore, owner: string): BlobStore {
  if (owner === "") return blobs;
  return {
    put: (bytes, mediaType, options) => blobs.put(bytes, mediaType, { ...options, owner }),
    get: (hash) => blobs.get(hash, { owner }),
  };
}

/** URL prefix of a blob in events; the hash follows. */
export const blobPath = "/api/blobs/";

export function isBlobHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Returns the hash in a blob URL. Undefined for any other URL. */
export function parseBlobHash(url: string): string | undefined {
  const hash = url.startsWith(blobPath) ? url.slice(blobPath.length) : "";
  return isBlobHash(hash) ? hash : undefined;
}

/** Returns the hashes of the blobs that the text refers to. */
export function findBlobHashes(text: string): readonly string[] {
  // Few events contain a blob URL, and `includes` takes a tenth of the time of the regular expression.
  if (!text.includes(blobPath)) return noHashes;
  return Array.from(text.matchAll(blobUrlPattern), ([, hash = ""]) => hash);
}

const noHashes: readonly string[] = [];
const blobUrlPattern = new RegExp(`${blobPath}([0-9a-f]{64})(?![0-9a-f])`, "g");
