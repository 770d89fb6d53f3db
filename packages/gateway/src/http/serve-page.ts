import { encodings, type BuiltPage, type PageFile } from "./built-page.ts";
import { matchesEtag, type RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";

/** Allows only scripts from the build, not scripts that a model wrote. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'none'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** Sends the page. Returns false if it is not built. */
export async function servePage(context: RequestContext, page: BuiltPage): Promise<boolean> {
  const files = await page.loadFiles();
  if (files === undefined) return false;
  await sendFile(context, files.index, "no-cache");
  return true;
}

export async function servePageAsset(context: RequestContext, page: BuiltPage): Promise<void> {
  const file = (await page.loadFiles())?.assets.get(context.pathParam);
  if (file === undefined)
    throw new GatewayError("not_found", `the page has no file "${context.pathParam}"`);
  // The file name contains a hash of the content.
  await sendFile(context, file, "public, max-age=31536000, immutable");
}

async function sendFile(
  { request, response }: RequestContext,
  file: PageFile,
  cacheControl: string,
): Promise<void> {
  // Weak, because compressed and uncompressed replies have the same ETag.
  const etag = `W/"${file.hash}"`;
  const headers = { ...pageHeaders, "cache-control": cacheControl, vary: "accept-encoding", etag };
  if (matchesEtag(etag, request.headers)) return void response.writeHead(304, headers).end();
  const encoding = negotiateEncoding(request.headers["accept-encoding"], encodings);
  const compressed = encoding === undefined ? undefined : await file.compress(encoding);
  const body = compressed ?? file.bytes;
  response.writeHead(200, {
    ...headers,
    "content-type": file.type,
    "content-length": body.length,
    ...(compressed === undefined ? {} : { "content-encoding": encoding }),
  });
  return void response.end(body);
}

/**
 * Returns the first of `supported` that an Accept-Encoding header accepts; `;q=0` rejects one. Linear in the header: a
 * header may be 32 KB long.
 */
export function negotiateEncoding<Encoding extends string>(
  header: string | undefined,
  supported: readonly Encoding[],
): Encoding | undefined {
  const accepted = new Set<string>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", weight = ""] = part.split(";", 2);
    if (!/^q=0(?:\.0*)?$/.test(weight.trim())) accepted.add(name.trim());
  }
  return supported.find((encoding) => accepted.has(encoding));
}
