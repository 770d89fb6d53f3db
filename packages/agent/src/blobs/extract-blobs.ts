import { blobPath, parseDataUrl, type BlobStore } from "@deltawire/tasks";

const mediaKinds = ["image", "audio", "file"] as const;
const defaultMediaTypes = {
  image: "image/png",
  audio: "audio/mpeg",
  file: "application/octet-stream",
} as const;

/**
 * Stores the bytes and `data:` URLs in a tool result or user message, and returns the value with blob URLs instead. A bare
 * media value becomes a list of one block.
 */
export async function extractBlobs(value: unknown, blobs: BlobStore): Promise<unknown> {
  const extracted = await extractValue(wrapBareMedia(value), blobs);
  return isMediaBlock(extracted) ? { block_list: [extracted] } : extracted;
}

function wrapBareMedia(value: unknown): unknown {
  if (value instanceof Uint8Array) return { type: "file", bytes: value };
  if (typeof value !== "string" || !isBase64DataUrl(value)) return value;
  const kind = mediaKinds.find((mediaKind) => value.startsWith(`data:${mediaKind}/`)) ?? "file";
  return { type: kind, [`${kind}_url`]: { url: value } };
}

async function extractValue(
  value: unknown,
  blobs: BlobStore,
  ancestors: readonly unknown[] = [],
): Promise<unknown> {
  if (typeof value === "string") return isBase64DataUrl(value) ? storeDataUrl(value, blobs) : value;
  if (value instanceof Uint8Array) return storeBytes(value, defaultMediaTypes.file, blobs);
  // Circular references are left for JSON.stringify to report.
  if (!isPlainValue(value) || ancestors.includes(value)) return value;
  const path = [...ancestors, value];
  if (Array.isArray(value))
    return Promise.all(value.map((element) => extractValue(element, blobs, path)));
  const { bytes, ...rest } = value as Record<string, unknown>;
  const kind = getMediaKind(value);
  const { media_type: mediaType } = rest;
  if (kind !== undefined && bytes instanceof Uint8Array) {
    const type = typeof mediaType === "string" ? mediaType : defaultMediaTypes[kind];
    const url = await storeBytes(bytes, type, blobs);
    if (kind !== "file") delete rest["media_type"];
    return { ...rest, [`${kind}_url`]: { url } };
  }
  if (kind !== undefined) {
    const urlField = rest[`${kind}_url`];
    const url = isPlainValue(urlField) ? (urlField as { url?: unknown }).url : urlField;
    if (typeof url === "string" && url.startsWith("data:"))
      return { ...rest, [`${kind}_url`]: { url: await storeDataUrl(url, blobs) } };
  }
  const entries = Object.entries(value).map(async ([key, element]) => [
    key,
    // Text is never treated as a URL, even if it looks like one.
    key === "text" && typeof element === "string"
      ? element
      : await extractValue(element, blobs, path),
  ]);
  return Object.fromEntries((await Promise.all(entries)) as [string, unknown][]);
}

function isPlainValue(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    typeof (value as { toJSON?: unknown }).toJSON !== "function"
  );
}

function getMediaKind(value: object): (typeof mediaKinds)[number] | undefined {
  const { type } = value as { type?: unknown };
  return mediaKinds.find((kind) => type === kind || type === `${kind}_url`);
}

function isMediaBlock(value: unknown): boolean {
  if (!isPlainValue(value) || Array.isArray(value)) return false;
  const kind = getMediaKind(value);
  return kind !== undefined && `${kind}_url` in value;
}

function isBase64DataUrl(text: string): boolean {
  return parseDataUrl(text)?.isBase64 === true;
}

async function storeDataUrl(url: string, blobs: BlobStore): Promise<string> {
  const dataUrl = parseDataUrl(url);
  if (dataUrl === undefined) return url;
  const { mediaType, isBase64, body } = dataUrl;
  const bytes = isBase64
    ? Buffer.from(body, "base64")
    : Buffer.from(decodePercentEscapes(body), "utf8");
  return storeBytes(bytes, mediaType === "" ? "text/plain" : mediaType, blobs);
}

function decodePercentEscapes(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function storeBytes(bytes: Uint8Array, mediaType: string, blobs: BlobStore): Promise<string> {
  return `${blobPath}${await blobs.put(bytes, mediaType)}`;
}
