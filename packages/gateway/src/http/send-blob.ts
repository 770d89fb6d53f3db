import type { IncomingHttpHeaders, ServerResponse } from "node:http";

/** What a browser may show by itself; an SVG can hold a script. */
const shown = /^(?:image\/(?!svg)|audio\/)[\w.+-]+$/i;
const mediaType = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/i;

/** Bytes that a tool or a model brought: nobody knows what is in them, so nothing in them may run. */
export function sendBlob(
  response: ServerResponse,
  headers: IncomingHttpHeaders,
  hash: string,
  { bytes, mediaType: kept }: { bytes: Uint8Array; mediaType: string },
): void {
  const size = bytes.byteLength;
  const etag = `"${hash}"`;
  const isOther = headers["if-range"] !== undefined && headers["if-range"] !== etag;
  const range = isOther ? undefined : rangeOf(headers.range, size);
  if (range === "nothing")
    return void response.writeHead(416, { "content-range": `bytes */${size}` }).end();
  const { start, end } = range ?? { start: 0, end: size };
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": mediaType.test(kept) ? kept : "application/octet-stream",
    "content-length": end - start,
    ...(range === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    "accept-ranges": "bytes",
    "content-disposition": shown.test(kept) ? "inline" : "attachment",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    // Its address is its content.
    "cache-control": "private, max-age=31536000, immutable",
    etag,
  });
  response.end(bytes.subarray(start, end));
}

/** Safari plays no sound that it cannot have piece by piece. Several ranges at once are not served: all is. */
function rangeOf(
  header: string | undefined,
  size: number,
): { start: number; end: number } | "nothing" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  return start < end ? { start, end } : "nothing";
}
