import { fetchPublicUrl } from "@deltawire/agent/basics";
import { mediaTypeEssence } from "@deltawire/tasks";
import { detectMediaType } from "./media-types.ts";

export interface DownloadImageOptions {
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** The origin of the configured upstream, which may have a private address. All other addresses must be public. */
  upstreamOrigin: string;
}

export interface DownloadedImage {
  base64: string;
  /** `png`, `jpeg`, `gif` or `webp`. */
  format: string;
  size: number;
}

/** Downloads an image that a model has returned as a link. Never sends a key. Throws an Error if it cannot be downloaded. */
export async function downloadReturnedImage(
  url: string,
  options: DownloadImageOptions,
): Promise<DownloadedImage> {
  const { maxBytes, timeoutMs, signal, upstreamOrigin } = options;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetchPublicUrl(url, {
      maxBytes,
      signal: AbortSignal.any([signal, deadline]),
      allowsPrivateAddress: ({ origin }) => origin === upstreamOrigin,
      accept: "image/png, image/jpeg, image/webp, image/gif",
    });
    return decodeImage(response, maxBytes);
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    throw new Error(`no complete answer within ${timeoutMs / 1000} s`, { cause: error });
  }
}

function decodeImage(
  {
    status,
    statusText,
    contentType,
    bytes,
    isTruncated,
  }: Awaited<ReturnType<typeof fetchPublicUrl>>,
  maxBytes: number,
): DownloadedImage {
  if (status < 200 || status > 299)
    throw new Error(`the server answered ${`${status} ${statusText}`.trim()}`);
  if (isTruncated) throw new Error(`it is larger than the limit of ${maxBytes} bytes`);
  const type = detectMediaType(bytes);
  if (type === undefined || !type.startsWith("image/")) {
    const declaredType = mediaTypeEssence(contentType);
    throw new Error(
      `must be PNG, JPEG, GIF or WebP, got ${declaredType === "" ? "unknown data" : declaredType}`,
    );
  }
  return {
    base64: bytes.toString("base64"),
    format: type.slice("image/".length),
    size: bytes.length,
  };
}
