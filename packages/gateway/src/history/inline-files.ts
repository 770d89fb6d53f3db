import type { FileStore, StoredFile } from "@deltawire/store";
import type { JsonObject, JsonValue, ResponseInputItem } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";

/** Files with other types are sent as files, which not every model can read. */
const textMediaTypes =
  /^(?:text\/|application\/(?:json|xml|x-yaml|yaml|toml|javascript|x-ndjson)\b)/;

/**
 * Replaces the ids of files in messages and tool results with their content: images as images, text as text, others as files. Returns
 * the same array if there are none. Ids that are not stored here are unchanged, because an upstream may know them.
 * `ownCount`: the number of items at the end that are new in this request. Throws a GatewayError if one of their files was not found
 * and its id is one of this gateway.
 */
export async function inlineFiles(
  items: readonly ResponseInputItem[],
  ownCount: number,
  load: (fileId: string) => Promise<LoadedFile | undefined>,
): Promise<readonly ResponseInputItem[]> {
  if (!items.some((item) => listFileParts(item).length > 0)) return items;
  const result: ResponseInputItem[] = [];
  for (const [index, item] of items.entries()) {
    if (listFileParts(item).length === 0) {
      result.push(item);
      continue;
    }
    const isOwn = index >= items.length - ownCount;
    const field = Array.isArray((item as JsonObject)["content"]) ? "content" : "output";
    const parts: JsonObject[] = [];
    for (const part of (item as JsonObject)[field] as JsonObject[])
      parts.push(await inlinePart(part, isOwn, load));
    result.push({ ...item, [field]: parts });
  }
  return result;
}

export interface LoadedFile {
  readonly file: StoredFile;
  readonly bytes: Uint8Array;
}

/** Returns a function that loads a file of an owner, unless it has expired. */
export function createFileLoader(
  getStore: () => FileStore,
  owner: string,
): (fileId: string) => Promise<LoadedFile | undefined> {
  const cache = new Map<string, Promise<LoadedFile | undefined>>();
  const load = async (fileId: string): Promise<LoadedFile | undefined> => {
    const file = await getStore().getFile(owner, fileId);
    if (file === undefined || isExpired(file)) return undefined;
    const bytes = await getStore().getFileContent(owner, fileId);
    return bytes === undefined ? undefined : { file, bytes };
  };
  return (fileId) => {
    const loaded = cache.get(fileId) ?? load(fileId);
    cache.set(fileId, loaded);
    return loaded;
  };
}

export function isExpired({ expiresAt = Infinity }: StoredFile): boolean {
  return expiresAt <= Date.now();
}

/** Prefix of the ids of stored files. */
export const fileIdPrefix = "file-dw";

async function inlinePart(
  part: JsonObject,
  isOwn: boolean,
  load: (fileId: string) => Promise<LoadedFile | undefined>,
): Promise<JsonObject> {
  if (!isFilePart(part)) return part;
  const { file_id: fileId, ...rest } = part as JsonObject & { file_id: string };
  if (!fileId.startsWith(fileIdPrefix)) return part;
  const loaded = await load(fileId);
  if (loaded === undefined) {
    if (isOwn)
      throw new GatewayError("invalid_request", `File with id '${fileId}' not found`, {
        param: "input",
      });
    return { type: "input_text", text: `[a file that was deleted: ${fileId}]` };
  }
  return toContentPart(loaded.file, loaded.bytes, rest["detail"]);
}

/** Returns a file as content that models can read: an image as image, text as text, others as a file. */
export function toContentPart(
  { mediaType, filename }: Pick<StoredFile, "mediaType" | "filename">,
  bytes: Uint8Array,
  detail: JsonValue = "auto",
): JsonObject {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dataUrl = `data:${mediaType};base64,${buffer.toString("base64")}`;
  if (mediaType.startsWith("image/")) return { type: "input_image", image_url: dataUrl, detail };
  if (textMediaTypes.test(mediaType))
    return { type: "input_text", text: `${filename}:\n\n${buffer.toString("utf8")}` };
  return { type: "input_file", filename, file_data: dataUrl };
}

function listFileParts(item: ResponseInputItem): JsonObject[] {
  const { content, output } = item as JsonObject;
  const parts = Array.isArray(content) ? content : Array.isArray(output) ? output : [];
  return (parts as unknown[]).filter(isFilePart);
}

function isFilePart(part: unknown): part is JsonObject {
  const { type, file_id: fileId } = (part ?? {}) as JsonObject;
  return (type === "input_file" || type === "input_image") && typeof fileId === "string";
}
