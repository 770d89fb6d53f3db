import type { FileStore, StoredFile } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import { detectUploadMediaType } from "../chats/upload-media-type.ts";
import { GatewayError } from "../gateway-error.ts";
import { fileIdPrefix, isExpired } from "../history/inline-files.ts";
import { newId } from "../new-id.ts";
import { invalidRequest } from "../parse-body.ts";
import { readBodyBytes } from "./request-body.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import { sendBlob } from "./send-blob.ts";
import { buildItemList, parseItemPage } from "./serve-responses.ts";
import type { RouteHandler } from "./server.ts";
import { withTaskErrors } from "./task-request-params.ts";

export interface FileRouteServices {
  /** Throws a GatewayError while the store is closed. */
  getStore: () => FileStore;
  /** Maximum size of all files together. */
  maxTotalBytes: number;
}

type FileRouteName = "upload file" | "files" | "file" | "delete file" | "file content";

const maxFilenameLength = 255;
/** The limits of OpenAI's API, in seconds. */
const expiryRange = { min: 3600, max: 30 * 24 * 3600 };

/** Returns the handlers for files that requests refer to by their id. */
export function createFileHandlers(
  services: FileRouteServices,
): Record<FileRouteName, RouteHandler> {
  return {
    "upload file": withTaskErrors(uploadFile, services),
    files: withTaskErrors(listFiles, services),
    file: withTaskErrors(serveFile, services),
    "delete file": withTaskErrors(deleteFile, services),
    "file content": withTaskErrors(serveContent, services),
  };
}

async function uploadFile(
  context: RequestContext,
  { getStore, maxTotalBytes }: FileRouteServices,
): Promise<void> {
  const form = await readForm(context);
  const upload = form.get("file");
  const purpose = form.get("purpose");
  if (!(upload instanceof File)) throw invalidRequest("file", "expected a file");
  if (typeof purpose !== "string" || purpose === "" || purpose.length > 64)
    throw invalidRequest("purpose", 'expected a text such as "user_data"');
  const bytes = Buffer.from(await upload.arrayBuffer());
  if (bytes.length === 0) throw invalidRequest("file", "the file is empty");
  const filename = upload.name.slice(0, maxFilenameLength);
  const createdAt = Date.now();
  const file: StoredFile = {
    fileId: newId(fileIdPrefix).replace("_", ""),
    owner: getClientScope(context),
    filename,
    purpose,
    mediaType: detectUploadMediaType({ contentType: upload.type, filename, bytes }),
    size: bytes.length,
    createdAt,
    ...parseExpiry(form, createdAt),
  };
  const store = getStore();
  await store.deleteExpiredFiles(createdAt);
  if (!(await store.addFile(file, bytes, maxTotalBytes)))
    throw new GatewayError(
      "request_too_large",
      "all files together would be larger than store.responses_max_mb; delete some",
    );
  sendJson(context.response, 200, toReply(file));
}

async function listFiles(context: RequestContext, { getStore }: FileRouteServices): Promise<void> {
  const { searchParams } = context.url;
  const { limit, order, after } = parseItemPage(searchParams);
  const purpose = searchParams.get("purpose") ?? undefined;
  const filter = { limit: limit + 1, order, after, purpose };
  const files = await getStore().listFiles(getClientScope(context), filter);
  if (files === undefined) throw invalidRequest("after", "expected the id of a file");
  const data = files.slice(0, limit).filter((file) => !isExpired(file));
  sendJson(context.response, 200, buildItemList(data.map(toReply), files.length > limit));
}

async function serveFile(context: RequestContext, services: FileRouteServices): Promise<void> {
  sendJson(context.response, 200, toReply(await getFile(context, services)));
}

async function deleteFile(context: RequestContext, { getStore }: FileRouteServices): Promise<void> {
  const { pathParam: id } = context;
  if (!(await getStore().deleteFile(getClientScope(context), id))) throw createNotFoundError(id);
  sendJson(context.response, 200, { id, object: "file", deleted: true });
}

async function serveContent(context: RequestContext, services: FileRouteServices): Promise<void> {
  const { fileId, mediaType } = await getFile(context, services);
  const bytes = await services.getStore().getFileContent(getClientScope(context), fileId);
  if (bytes === undefined) throw createNotFoundError(fileId);
  sendBlob(context.response, context.request.headers, fileId, { bytes, mediaType });
}

async function getFile(
  context: RequestContext,
  { getStore }: FileRouteServices,
): Promise<StoredFile> {
  const { pathParam: id } = context;
  const file = await getStore().getFile(getClientScope(context), id);
  if (file === undefined || isExpired(file)) throw createNotFoundError(id);
  return file;
}

async function readForm(context: RequestContext): Promise<FormData> {
  const contentType = context.request.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\b/i.test(contentType))
    throw invalidRequest("", "expected multipart/form-data with the fields file and purpose");
  const bytes = await readBodyBytes(context);
  try {
    const headers = { "content-type": contentType };
    return await new Response(new Uint8Array(bytes), { headers }).formData();
  } catch {
    throw invalidRequest("", "the multipart body is invalid");
  }
}

function parseExpiry(form: FormData, createdAt: number): { expiresAt?: number } {
  const seconds = form.get("expires_after[seconds]");
  if (seconds === null) return {};
  const value = Number(seconds);
  if (!Number.isInteger(value) || value < expiryRange.min || value > expiryRange.max)
    throw invalidRequest(
      "expires_after[seconds]",
      `expected an integer from ${expiryRange.min} to ${expiryRange.max}`,
    );
  return { expiresAt: createdAt + value * 1000 };
}

function toReply(file: StoredFile): JsonObject {
  const { fileId, filename, purpose, size, createdAt, expiresAt } = file;
  return {
    id: fileId,
    object: "file",
    bytes: size,
    created_at: Math.floor(createdAt / 1000),
    ...(expiresAt === undefined ? {} : { expires_at: Math.floor(expiresAt / 1000) }),
    filename,
    purpose,
    status: "processed",
    status_details: null,
  };
}

function createNotFoundError(id: string): GatewayError {
  return new GatewayError("file_not_found", `File with id '${id}' not found`);
}
