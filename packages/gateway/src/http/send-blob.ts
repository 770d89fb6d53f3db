import type { ServerResponse } from "node:http";

/** What a browser may show by itself; an SVG can hold a script. */
const shown = /^(?:image\/(?!svg)|audio\/)[\w.+-]+$/i;
const mediaType = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/i;

/** Bytes that a tool or a model brought: nobody knows what is in them, so nothing in them may run. */
export function sendBlob(
  response: ServerResponse,
  hash: string,
  { bytes, mediaType: kept }: { bytes: Uint8Array; mediaType: string },
): void {
  response.writeHead(200, {
    "content-type": mediaType.test(kept) ? kept : "application/octet-stream",
    "content-length": bytes.byteLength,
    "content-disposition": shown.test(kept) ? "inline" : "attachment",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    // Its address is its content.
    "cache-control": "private, max-age=31536000, immutable",
    etag: `"${hash}"`,
  });
  response.end(bytes);
}
