import type { IncomingHttpHeaders, ServerResponse } from "node:http";

/** Media types that browsers may display inline. Not SVG, which can contain scripts. */
const inlineMediaTypes = /^(?:image\/(?!svg)|audio\/)[\w.+-]+$/i;
const mediaTypePattern = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/i;

/** Sends bytes from a tool, a model or a user. They are untrusted, so the headers keep browsers from running scripts in them. */
export function sendBlob(
  response: ServerResponse,
  headers: IncomingHttpHeaders,
  hash: string,
  { bytes, mediaType: storedType }: { bytes: Uint8Array; mediaType: string },
): void {
  const size = bytes.byteLength;
  const etag = `"${hash}"`;
  const isStaleRange = headers["if-range"] !== undefined && headers["if-range"] !== etag;
  const range = isStaleRange ? undefined : parseRange(headers.range, size);
  if (range === "unsatisfiable")
    return void response.writeHead(416, { "content-range": `bytes */${size}` }).end();
  const { start, end } = range ?? { start: 0, end: size };
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": mediaTypePattern.test(storedType) ? storedType : "application/octet-stream",
    "content-length": end - start,
    ...(range === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    "accept-ranges": "bytes",
    "content-disposition": inlineMediaTypes.test(storedType) ? "inline" : "attachment",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    // The URL contains the hash of the content.
    "cache-control": "private, max-age=31536000, immutable",
    etag,
  });
  response.end(bytes.subarray(start, end));
}

/** Safari plays audio only if ranges are supported. Returns undefined for several ranges: then the complete blob is sent. */
function parseRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  return start < end ? { start, end } : "unsatisfiable";
}
