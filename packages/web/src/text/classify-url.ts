/** How the page treats the URL of an image, audio or file. The page's content security policy allows only local ones. */
export type ClassifiedUrl =
  | { readonly type: "local"; readonly url: string }
  | { readonly type: "external"; readonly url: string; readonly host: string }
  | { readonly type: "unsafe" };

/** Of the gateway's paths, only those of blobs count as local: model output must not make the page request other paths. */
export function classifyUrl(url: string): ClassifiedUrl {
  if (isBlobUrl(url) || imageDataUrlPattern.test(url)) return { type: "local", url };
  try {
    const { protocol, host } = new URL(url);
    if (protocol === "https:" || protocol === "http:") return { type: "external", url, host };
  } catch {
    // Not a valid URL.
  }
  return { type: "unsafe" };
}

/** True for the path of a blob on the gateway. */
export function isBlobUrl(url: string): boolean {
  return /^\/api\/blobs\/[\w-]+$/.test(url);
}

/** Matches data URLs of image types that cannot contain scripts or references. */
const imageDataUrlPattern = /^data:image\/(?:png|jpeg|gif|webp|avif)[;,]/i;
