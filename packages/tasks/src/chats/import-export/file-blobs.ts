import { parseBlobHash } from "../../blobs.ts";
import { mediaTypeEssence, parseDataUrl } from "../../data-url.ts";
import type { BlobReader, FileBlob } from "./import-types.ts";

const base64Pattern = /^[A-Za-z0-9+/]*={0,2}$/;
const mediaTypePattern = /^[\w.+-]+\/[\w.+-]+$/;

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64Pattern.test(text);
}

export function decodedByteLength(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Returns a media type without its parameters. Undefined if the text is not a media type. */
export function parseMediaType(text: string): string | undefined {
  const type = mediaTypeEssence(text);
  return mediaTypePattern.test(type) ? type : undefined;
}

/** Returns the content of a base64 `data:` URL. Undefined for any other URL. */
export function dataUrlToBlob(url: string): FileBlob | undefined {
  const dataUrl = parseDataUrl(url);
  if (dataUrl === undefined || !dataUrl.isBase64 || !isBase64(dataUrl.body)) return undefined;
  const media_type = parseMediaType(dataUrl.mediaType);
  return media_type === undefined ? undefined : { media_type, base64: dataUrl.body };
}

export function blobToDataUrl({ media_type, base64 }: FileBlob): string {
  return `data:${media_type};base64,${base64}`;
}

/** Returns the content of a blob URL or a `data:` URL, safe to be written into a page or a request. */
export function readBlob(url: string, blobs: BlobReader): FileBlob | undefined {
  const hash = parseBlobHash(url);
  if (hash === undefined) return dataUrlToBlob(url);
  const blob = blobs(hash);
  if (blob === undefined || !isBase64(blob.base64)) return undefined;
  return {
    media_type: parseMediaType(blob.media_type) ?? "application/octet-stream",
    base64: blob.base64,
  };
}
