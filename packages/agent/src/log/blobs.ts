import { createHash } from "node:crypto";
import { blobHash, blobPath, readDataUrl, type BlobStore } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";

const mediaKinds = ["image", "audio", "file"] as const;
const usualTypes = {
  image: "image/png",
  audio: "audio/mpeg",
  file: "application/octet-stream",
} as const;

/**
 * What a tool returned, or what a user said, with bytes and `data:` URLs in the store and their addresses here. A medium
 * that stands alone becomes a list of one block.
 */
export async function withBlobs(value: unknown, blobs: BlobStore): Promise<unknown> {
  const whole = await stored(alone(value), blobs);
  return isMedium(whole) ? { block_list: [whole] } : whole;
}

function alone(value: unknown): unknown {
  if (value instanceof Uint8Array) return { type: "file", bytes: value };
  if (typeof value !== "string" || !isBase64Url(value)) return value;
  const kind = mediaKinds.find((each) => value.startsWith(`data:${each}/`)) ?? "file";
  return { type: kind, [`${kind}_url`]: { url: value } };
}

async function stored(
  value: unknown,
  blobs: BlobStore,
  within: readonly unknown[] = [],
): Promise<unknown> {
  if (typeof value === "string") return isBase64Url(value) ? storedUrl(value, blobs) : value;
  if (value instanceof Uint8Array) return storedBytes(value, usualTypes.file, blobs);
  // What runs in a circle is told as what it is, by whoever writes it as JSON.
  if (!isPlain(value) || within.includes(value)) return value;
  const path = [...within, value];
  if (Array.isArray(value)) return Promise.all(value.map((one) => stored(one, blobs, path)));
  const { bytes, ...rest } = value as Record<string, unknown>;
  const kind = kindOf(value);
  const { media_type: mediaType } = rest;
  if (kind !== undefined && bytes instanceof Uint8Array) {
    const type = typeof mediaType === "string" ? mediaType : usualTypes[kind];
    const url = await storedBytes(bytes, type, blobs);
    if (kind !== "file") delete rest["media_type"];
    return { ...rest, [`${kind}_url`]: { url } };
  }
  if (kind !== undefined) {
    const address = rest[`${kind}_url`];
    const url = isPlain(address) ? (address as { url?: unknown }).url : address;
    if (typeof url === "string" && url.startsWith("data:"))
      return { ...rest, [`${kind}_url`]: { url: await storedUrl(url, blobs) } };
  }
  const entries = Object.entries(value).map(async ([key, one]) => [
    key,
    // Words are words, whatever they look like.
    key === "text" && typeof one === "string" ? one : await stored(one, blobs, path),
  ]);
  return Object.fromEntries((await Promise.all(entries)) as [string, unknown][]);
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    typeof (value as { toJSON?: unknown }).toJSON !== "function"
  );
}

function kindOf(value: object): (typeof mediaKinds)[number] | undefined {
  const { type } = value as { type?: unknown };
  return mediaKinds.find((kind) => type === kind || type === `${kind}_url`);
}

function isMedium(value: unknown): boolean {
  if (!isPlain(value) || Array.isArray(value)) return false;
  const kind = kindOf(value);
  return kind !== undefined && `${kind}_url` in value;
}

function isBase64Url(text: string): boolean {
  return readDataUrl(text)?.isBase64 === true;
}

async function storedUrl(url: string, blobs: BlobStore): Promise<string> {
  const read = readDataUrl(url);
  if (read === undefined) return url;
  const { mediaType, isBase64, body } = read;
  const bytes = isBase64 ? Buffer.from(body, "base64") : Buffer.from(unescaped(body), "utf8");
  return storedBytes(bytes, mediaType === "" ? "text/plain" : mediaType, blobs);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function storedBytes(
  bytes: Uint8Array,
  mediaType: string,
  blobs: BlobStore,
): Promise<string> {
  return `${blobPath}${await blobs.put(bytes, mediaType)}`;
}

/** The other way, for the model: its server cannot fetch from here. */
export async function withDataUrls<T>(value: T, blobs: BlobStore): Promise<T> {
  return (await inlined(value, blobs)) as T;
}

/** Where an address stands in a request; anywhere else its text is meant. */
const addresses = new Set(["image_url", "file_url", "file_data", "url"]);

async function inlined(value: unknown, blobs: BlobStore, key?: string): Promise<unknown> {
  if (typeof value === "string")
    return key !== undefined && addresses.has(key) ? dataUrlOf(value, blobs) : value;
  if (Array.isArray(value)) return Promise.all(value.map((one) => inlined(one, blobs)));
  if (typeof value !== "object" || value === null) return value;
  const object = value as JsonObject;
  if (!JSON.stringify(object).includes(blobPath)) return object;
  const entries = Object.entries(object).map(async ([name, one]) => [
    name,
    await inlined(one, blobs, name),
  ]);
  return inTheirShape(
    Object.fromEntries((await Promise.all(entries)) as [string, unknown][]) as JsonObject,
  );
}

/** Files and sounds that come with the request have other fields than those that are fetched. */
function inTheirShape(part: JsonObject): JsonObject {
  const { file_url: file, input_audio: audio, ...rest } = part;
  if (part["type"] === "input_file" && typeof file === "string" && file.startsWith("data:"))
    return { filename: "file", ...rest, file_data: file };
  const url = (audio as JsonObject | undefined)?.["url"];
  const sound =
    part["type"] === "input_audio" && typeof url === "string" ? readDataUrl(url) : undefined;
  if (sound === undefined) return part;
  const format = sound.mediaType.includes("wav") ? "wav" : "mp3";
  return { ...rest, input_audio: { data: sound.body, format } };
}

/** Any other address is left as it is, and so is one of a blob that is gone. */
async function dataUrlOf(url: string, blobs: BlobStore): Promise<string> {
  const hash = blobHash(url);
  const blob = hash === undefined ? undefined : await blobs.get(hash);
  if (blob === undefined) return url;
  return `data:${blob.mediaType};base64,${Buffer.from(blob.bytes).toString("base64")}`;
}

/** Blobs for as long as the process runs. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, { bytes: Uint8Array; mediaType: string }>();

  put(bytes: Uint8Array, mediaType: string): Promise<string> {
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (!this.#blobs.has(hash)) this.#blobs.set(hash, { bytes, mediaType });
    return Promise.resolve(hash);
  }

  get(hash: string): Promise<{ bytes: Uint8Array; mediaType: string } | undefined> {
    return Promise.resolve(this.#blobs.get(hash));
  }
}
