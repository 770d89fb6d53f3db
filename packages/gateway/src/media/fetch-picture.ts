import { fetchPublic } from "@deltawire/agent";
import { bareType } from "@deltawire/tasks";
import { typeOfBytes } from "./media-types.ts";

export interface PictureLimits {
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** The configured upstream, which may be on this machine or its network. Every other address must be public. */
  upstreamOrigin: string;
}

export interface FetchedPicture {
  base64: string;
  /** `png`, `jpeg`, `gif` or `webp`. */
  format: string;
  size: number;
}

/** Fetches the picture that an image server points at. No key is sent, to whatever address. Throws why it cannot be fetched. */
export async function fetchPicture(url: string, limits: PictureLimits): Promise<FetchedPicture> {
  const { maxBytes, timeoutMs, signal, upstreamOrigin } = limits;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const fetched = await fetchPublic(url, {
      maxBytes,
      signal: AbortSignal.any([signal, deadline]),
      mayBePrivate: ({ origin }) => origin === upstreamOrigin,
      accept: "image/png, image/jpeg, image/webp, image/gif",
    });
    return pictureIn(fetched, maxBytes);
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    throw new Error(`no complete answer within ${timeoutMs / 1000} s`, { cause: error });
  }
}

function pictureIn(
  { status, statusText, contentType, bytes, cut }: Awaited<ReturnType<typeof fetchPublic>>,
  maxBytes: number,
): FetchedPicture {
  if (status < 200 || status > 299)
    throw new Error(`the server answered ${`${status} ${statusText}`.trim()}`);
  if (cut) throw new Error(`it has more than ${maxBytes} bytes, which is the limit`);
  const type = typeOfBytes(bytes);
  if (type === undefined || !type.startsWith("image/")) {
    const told = bareType(contentType);
    throw new Error(`it is ${told === "" ? "something else" : told}, not PNG, JPEG, GIF or WebP`);
  }
  return {
    base64: bytes.toString("base64"),
    format: type.slice("image/".length),
    size: bytes.length,
  };
}
