import { encodings, type BuiltPage, type PageFile } from "./built-page.ts";
import { matchesEtag, type Call } from "./call.ts";
import { Problem } from "../problem.ts";

/** What came from the build may run, and nothing else: what a model writes stays text. */
const policy = [
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

const usualHeaders = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** False where no page is built. */
export async function servePage(call: Call, page: BuiltPage): Promise<boolean> {
  const files = await page.files();
  if (files === undefined) return false;
  await sendFile(call, files.index, "no-cache");
  return true;
}

export async function servePageAsset(call: Call, page: BuiltPage): Promise<void> {
  const file = (await page.files())?.assets.get(call.rest);
  if (file === undefined) throw new Problem("not_found", `the page has no file "${call.rest}"`);
  // Its name changes with its content.
  await sendFile(call, file, "public, max-age=31536000, immutable");
}

async function sendFile(
  { request, response }: Call,
  file: PageFile,
  caching: string,
): Promise<void> {
  // Weak: packed and unpacked are the same page.
  const etag = `W/"${file.hash}"`;
  const headers = { ...usualHeaders, "cache-control": caching, vary: "accept-encoding", etag };
  if (matchesEtag(etag, request.headers)) return void response.writeHead(304, headers).end();
  const encoding = acceptedEncoding(request.headers["accept-encoding"], encodings);
  const packed = encoding === undefined ? undefined : await file.packed(encoding);
  const body = packed ?? file.bytes;
  response.writeHead(200, {
    ...headers,
    "content-type": file.type,
    "content-length": body.length,
    ...(packed === undefined ? {} : { "content-encoding": encoding }),
  });
  return void response.end(body);
}

/**
 * Returns the first of `offered` that an Accept-Encoding header accepts; `;q=0` rejects one. Linear in the header: a
 * header may be 32 KB long.
 */
export function acceptedEncoding<Encoding extends string>(
  header: string | undefined,
  offered: readonly Encoding[],
): Encoding | undefined {
  const accepted = new Set<string>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", weight = ""] = part.split(";", 2);
    if (!/^q=0(?:\.0*)?$/.test(weight.trim())) accepted.add(name.trim());
  }
  return offered.find((encoding) => accepted.has(encoding));
}
