import { createHash } from "node:crypto";
import type { BlobStore, StoredBlob } from "@deltawire/tasks";

/** A blob store in memory. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, StoredBlob>();

  put(
    bytes: Uint8Array,
    mediaType: string,
    { owner = "" }: { owner?: string } = {},
  ): Promise<string> {
    const hash = createHash("sha256").update(bytes).digest("hex");
    const key = buildKey(hash, owner);
    if (!this.#blobs.has(key)) this.#blobs.set(key, { bytes, mediaType });
    return Promise.resolve(hash);
  }

  get(hash: string, { owner = "" }: { owner?: string } = {}): Promise<StoredBlob | undefined> {
    return Promise.resolve(this.#blobs.get(buildKey(hash, owner)));
  }
}

function buildKey(hash: string, owner: string): string {
  return `${hash} ${owner}`;
}
