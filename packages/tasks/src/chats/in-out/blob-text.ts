import { blobHash } from "../../blobs.ts";
import { bareType, readDataUrl } from "../../data-url.ts";
import type { BlobReader, FileBlob } from "./imported.ts";

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;
const mediaTypeForm = /^[\w.+-]+\/[\w.+-]+$/;

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64Form.test(text);
}

export function bytesIn(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Without parameters; undefined for what is none. */
export function mediaTypeOf(text: string): string | undefined {
  const type = bareType(text);
  return mediaTypeForm.test(type) ? type : undefined;
}

/** What a `data:` url holds; undefined for any other address, and for one that is not in base64. */
export function fromDataUrl(url: string): FileBlob | undefined {
  const read = readDataUrl(url);
  if (read === undefined || !read.isBase64 || !isBase64(read.body)) return undefined;
  const media_type = mediaTypeOf(read.mediaType);
  return media_type === undefined ? undefined : { media_type, base64: read.body };
}

export function toDataUrl({ media_type, base64 }: FileBlob): string {
  return `data:${media_type};base64,${base64}`;
}

/** The blob at an address of ours, or in a `data:` url, fit to be written into a page or a request. */
export function blobAt(url: string, blobs: BlobReader): FileBlob | undefined {
  const hash = blobHash(url);
  if (hash === undefined) return fromDataUrl(url);
  const blob = blobs(hash);
  if (blob === undefined || !isBase64(blob.base64)) return undefined;
  return {
    media_type: mediaTypeOf(blob.media_type) ?? "application/octet-stream",
    base64: blob.base64,
  };
}
