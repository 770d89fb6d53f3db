import { blobPath } from "../../blobs.ts";
import type { BlobReader, FileBlob } from "./imported.ts";

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;
const mediaTypeForm = /^[\w.+-]+\/[\w.+-]+$/;
const hashForm = /^[0-9a-f]{64}$/;

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64Form.test(text);
}

export function bytesIn(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Without parameters; undefined for what is none. */
export function mediaTypeOf(text: string): string | undefined {
  const type = (text.split(";")[0] ?? "").trim().toLowerCase();
  return mediaTypeForm.test(type) ? type : undefined;
}

/** What a `data:` url holds; undefined for any other address, and for one that is not in base64. */
export function fromDataUrl(url: string): FileBlob | undefined {
  const comma = url.indexOf(",");
  const head = url.slice(0, comma);
  if (comma < 0 || !head.startsWith("data:") || !head.endsWith(";base64")) return undefined;
  const base64 = url.slice(comma + 1);
  const media_type = mediaTypeOf(head.slice("data:".length));
  return media_type === undefined || !isBase64(base64) ? undefined : { media_type, base64 };
}

export function toDataUrl({ media_type, base64 }: FileBlob): string {
  return `data:${media_type};base64,${base64}`;
}

/** The blob at an address of ours, or in a `data:` url, fit to be written into a page or a request. */
export function blobAt(url: string, blobs: BlobReader): FileBlob | undefined {
  if (url.startsWith("data:")) return fromDataUrl(url);
  const hash = url.startsWith(blobPath) ? url.slice(blobPath.length) : "";
  const blob = hashForm.test(hash) ? blobs(hash) : undefined;
  if (blob === undefined || !isBase64(blob.base64)) return undefined;
  return {
    media_type: mediaTypeOf(blob.media_type) ?? "application/octet-stream",
    base64: blob.base64,
  };
}
