/** Pictures and files, once each. */
export interface BlobStore {
  /**
   * Returns the SHA-256 of the bytes, in hex. `unusedMs`: how long the blob is stored although no task and no chat refers to it
   * yet; default and minimum: an hour.
   */
  put(bytes: Uint8Array, mediaType: string, options?: { unusedMs?: number }): Promise<string>;
  get(hash: string): Promise<{ bytes: Uint8Array; mediaType: string } | undefined>;
}

/** In events, this with its hash stands for a blob. */
export const blobPath = "/api/blobs/";

export function isBlobHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Of the blob at an address of ours; undefined for any other address. */
export function blobHash(url: string): string | undefined {
  const hash = url.startsWith(blobPath) ? url.slice(blobPath.length) : "";
  return isBlobHash(hash) ? hash : undefined;
}

/** Hashes of the blobs that a text refers to. */
export function blobsIn(text: string): readonly string[] {
  // Nearly no event has one, and `includes` is a tenth of the expression's cost.
  if (!text.includes(blobPath)) return none;
  return Array.from(text.matchAll(blobAddress), ([, hash = ""]) => hash);
}

const none: readonly string[] = [];
const blobAddress = new RegExp(`${blobPath}([0-9a-f]{64})(?![0-9a-f])`, "g");
