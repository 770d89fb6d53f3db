import { parseBlobHash, blobPath, parseDataUrl, type BlobStore } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";

/** Replaces blob URLs with `data:` URLs, because the model's server cannot fetch blobs. */
export async function inlineBlobs<T>(value: T, blobs: BlobStore): Promise<T> {
  return (await inlineValue(value, blobs)) as T;
}

/** The request fields that contain URLs. Other fields are never replaced. */
const urlFields = new Set(["image_url", "file_url", "file_data", "url"]);

async function inlineValue(value: unknown, blobs: BlobStore, key?: string): Promise<unknown> {
  if (typeof value === "string")
    return key !== undefined && urlFields.has(key) ? loadDataUrl(value, blobs) : value;
  if (Array.isArray(value)) return Promise.all(value.map((element) => inlineValue(element, blobs)));
  if (typeof value !== "object" || value === null) return value;
  const object = value as JsonObject;
  if (!JSON.stringify(object).includes(blobPath)) return object;
  const entries = Object.entries(object).map(async ([name, element]) => [
    name,
    await inlineValue(element, blobs, name),
  ]);
  return toInlinePart(
    Object.fromEntries((await Promise.all(entries)) as [string, unknown][]) as JsonObject,
  );
}

/** Converts file and audio parts with a URL to the fields that the wire uses for inline data. */
function toInlinePart(part: JsonObject): JsonObject {
  const { file_url: file, input_audio: audio, ...rest } = part;
  if (part["type"] === "input_file" && typeof file === "string" && file.startsWith("data:"))
    return { filename: "file", ...rest, file_data: file };
  const url = (audio as JsonObject | undefined)?.["url"];
  const audioData =
    part["type"] === "input_audio" && typeof url === "string" ? parseDataUrl(url) : undefined;
  if (audioData === undefined) return part;
  const format = audioData.mediaType.includes("wav") ? "wav" : "mp3";
  return { ...rest, input_audio: { data: audioData.body, format } };
}

/** Returns the `data:` URL of a blob. Other URLs, and URLs of deleted blobs, are returned unchanged. */
async function loadDataUrl(url: string, blobs: BlobStore): Promise<string> {
  const hash = parseBlobHash(url);
  const blob = hash === undefined ? undefined : await blobs.get(hash);
  if (blob === undefined) return url;
  return `data:${blob.mediaType};base64,${Buffer.from(blob.bytes).toString("base64")}`;
}
