import type { FetchPublicOptions } from "@deltawire/agent";
import { fetchPublicUrl } from "@deltawire/agent/basics";
import { mediaTypeEssence } from "@deltawire/tasks";
import type { JsonObject, ResponseInputItem, ResponsesRequest } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import { toContentPart } from "../history/inline-files.ts";

/** Limit of all files of one request. */
const maxTotalBytes = 32 * 1024 * 1024;
const maxFiles = 16;
const timeoutMs = 30_000;

/**
 * Replaces each `input_file` with a `file_url` by its content, because Chat upstreams accept no links to files. Returns the same
 * request if there are none. Only public addresses are fetched, and no key is sent. Throws a GatewayError (400) if a file of the
 * latest turn cannot be fetched; in earlier turns a text replaces it.
 */
export async function fetchLinkedFiles(
  request: ResponsesRequest,
  {
    signal,
    allowsPrivateAddress = () => false,
  }: { signal: AbortSignal } & Partial<Pick<FetchPublicOptions, "allowsPrivateAddress">>,
): Promise<ResponsesRequest> {
  const { input } = request;
  if (!Array.isArray(input) || !input.some(hasLinkedFile)) return request;
  const deadline = AbortSignal.timeout(timeoutMs);
  const fetcher = new FileFetcher({
    signal: AbortSignal.any([signal, deadline]),
    allowsPrivateAddress,
  });
  const lastOutput = input.findLastIndex(isModelOutput);
  const items: ResponseInputItem[] = [];
  for (const [index, item] of input.entries()) {
    if (!hasLinkedFile(item)) {
      items.push(item);
      continue;
    }
    const field = Array.isArray((item as JsonObject)["content"]) ? "content" : "output";
    const parts: JsonObject[] = [];
    for (const [partIndex, part] of listParts(item).entries()) {
      const param = `input[${index}].${field}[${partIndex}].file_url`;
      parts.push(isLinkedFile(part) ? await replacePart(part, param, index > lastOutput) : part);
    }
    items.push({ ...item, [field]: parts });
  }
  return { ...request, input: items };

  async function replacePart(
    { file_url: url, filename }: LinkedFile,
    param: string,
    isLatest: boolean,
  ): Promise<JsonObject> {
    try {
      return await fetcher.fetch(url, typeof filename === "string" ? filename : undefined);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!isLatest) return { type: "input_text", text: "[a linked file that is not available]" };
      const reason = deadline.aborted
        ? `no complete answer within ${timeoutMs / 1000} s`
        : (error as Error).message;
      throw new GatewayError(
        "invalid_request",
        `${param}: could not fetch the file: ${reason}; send its content in file_data`,
        { param, cause: error },
      );
    }
  }
}

type LinkedFile = JsonObject & { file_url: string };

/** Fetches the files of one request, each URL once. */
class FileFetcher {
  readonly #options: Omit<FetchPublicOptions, "maxBytes">;
  readonly #parts = new Map<string, JsonObject>();
  #remainingBytes = maxTotalBytes;

  constructor(options: Omit<FetchPublicOptions, "maxBytes">) {
    this.#options = { ...options, accept: "*/*" };
  }

  async fetch(url: string, filename: string | undefined): Promise<JsonObject> {
    if (url.startsWith("data:"))
      return { type: "input_file", file_data: url, ...(filename ? { filename } : {}) };
    const fetched = this.#parts.get(url);
    if (fetched !== undefined) return fetched;
    if (this.#parts.size >= maxFiles) throw new Error(`more than ${maxFiles} linked files`);
    const maxBytes = this.#remainingBytes;
    const resource = await fetchPublicUrl(url, { ...this.#options, maxBytes });
    const { status, statusText, contentType, bytes, isTruncated } = resource;
    if (status < 200 || status > 299)
      throw new Error(`the server answered ${`${status} ${statusText}`.trim()}`);
    if (isTruncated)
      throw new Error(`the files of the request are larger than ${maxTotalBytes} bytes`);
    this.#remainingBytes -= bytes.length;
    const file = {
      mediaType: mediaTypeEssence(contentType) || "application/octet-stream",
      filename: filename ?? findFilename(resource.url),
    };
    const part = toContentPart(file, bytes);
    this.#parts.set(url, part);
    return part;
  }
}

function findFilename({ pathname }: URL): string {
  const name = pathname.slice(pathname.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(name) || "file";
  } catch {
    return name;
  }
}

function hasLinkedFile(item: ResponseInputItem): boolean {
  return listParts(item).some(isLinkedFile);
}

function listParts(item: ResponseInputItem): JsonObject[] {
  const { content, output } = item as JsonObject;
  const parts: unknown = Array.isArray(content) ? content : output;
  return Array.isArray(parts) ? (parts as JsonObject[]) : [];
}

function isLinkedFile(part: unknown): part is LinkedFile {
  const { type, file_url: url, file_data: data, file_id: id } = (part ?? {}) as JsonObject;
  return type === "input_file" && typeof url === "string" && url !== "" && !data && !id;
}

function isModelOutput(item: ResponseInputItem): boolean {
  const type = item.type ?? "message";
  if (type === "message") return "role" in item && item.role === "assistant";
  return type === "reasoning" || type.endsWith("_call");
}
