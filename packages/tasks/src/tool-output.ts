import { TaskError, assertNever } from "./error.ts";
import type { Block, ContentPart } from "./items.ts";
import type { JsonValue } from "./json.ts";

/** The output of a tool: parts for the model, blocks for users. */
export interface ToolOutput {
  message_content: ToolPart[];
  block_list: ToolBlock[];
}

/** Parts and blocks with the same `id` are one group, which can be cited. `title` and `url` describe its source. */
export interface ToolGroupFields {
  id?: string | number;
  title?: string;
  url?: string;
}
type WithGroupFields<T> = T extends unknown ? Omit<T, "id"> & ToolGroupFields : never;
export type ToolPart = WithGroupFields<ContentPart>;
export type ToolBlock = WithGroupFields<Block>;

/**
 * Converts the return value of a tool to parts and blocks. `{ message_content, block_list }` is validated; if one of them is
 * missing, it is derived from the other. Any other value becomes both. `bytes` with a `media_type` become a data URL. Throws
 * "invalid_tool_output".
 */
export function normalizeToolOutput(value: unknown): ToolOutput {
  if (value === undefined || value === null || value === "") return createTextOutput("(no output)");
  if (typeof value === "string") return createTextOutput(value);
  if (value instanceof Uint8Array)
    return createOutputFromBlocks([parseBlock({ type: "file", bytes: value }, "the output")]);
  if (isRecord(value) && value["bytes"] instanceof Uint8Array)
    return createOutputFromBlocks([parseBlock(value, "the output")]);
  if (isRecord(value) && ("message_content" in value || "block_list" in value))
    return parseOutput(value);
  const text = stringifyJson(value);
  if (typeof value !== "object") return createTextOutput(text);
  return {
    message_content: [{ type: "text", text }],
    block_list: [{ type: "data", data: JSON.parse(text) as JsonValue }],
  };
}

function createTextOutput(text: string): ToolOutput {
  return { message_content: [{ type: "text", text }], block_list: [{ type: "text", text }] };
}

function parseOutput(value: Record<string, unknown>): ToolOutput {
  const { message_content: content, block_list: list } = value;
  const parts =
    content === undefined
      ? undefined
      : parseList(content, "message_content").map((part, index) =>
          toToolPart(parseBlock(part, `message_content[${index}]`), parseTags(part)),
        );
  const blocks =
    list === undefined
      ? undefined
      : parseList(list, "block_list").map((block, index) =>
          parseBlock(block, `block_list[${index}]`),
        );
  if (parts === undefined) return createOutputFromBlocks(blocks ?? []);
  return { message_content: parts, block_list: blocks ?? parts.map(toToolBlock) };
}

function createOutputFromBlocks(blocks: ToolBlock[]): ToolOutput {
  return {
    message_content: blocks.map((block) => toToolPart(block, undefined)),
    block_list: blocks,
  };
}

function parseList(value: unknown, path: string): unknown[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  if (!Array.isArray(value))
    throw createInvalidOutputError(`${path} must be an array, got ${describeType(value)}`);
  return value;
}

/** Accepts the type names of blocks and of parts: `image` and `image_url`. */
function parseBlock(value: unknown, path: string): ToolBlock {
  if (!isRecord(value))
    throw createInvalidOutputError(`${path} must be an object, got ${describeType(value)}`);
  const group = parseGroupFields(value, path);
  switch (value["type"]) {
    case "text":
      if (typeof value["text"] !== "string")
        throw createInvalidOutputError(`${path}.text must be a string`);
      return { type: "text", text: value["text"], ...group };
    case "image":
    case "image_url":
      return { type: "image", image_url: parseUrl(value, "image", path), ...group };
    case "audio":
    case "audio_url":
      return {
        type: "audio",
        audio_url: parseUrl(value, "audio", path),
        ...pickStrings(value, ["transcript"]),
        ...group,
      };
    case "file":
    case "file_url":
      return {
        type: "file",
        file_url: parseUrl(value, "file", path),
        ...pickStrings(value, ["filename", "media_type"]),
        ...group,
      };
    case "data":
      return {
        type: "data",
        data: JSON.parse(stringifyJson(value["data"])) as JsonValue,
        ...group,
      };
    default:
      throw createInvalidOutputError(
        `${path}.type must be text, image, audio, file or data, got ${JSON.stringify(value["type"])}`,
      );
  }
}

function parseGroupFields(value: Record<string, unknown>, path: string): ToolGroupFields {
  const { id } = value;
  if (id === undefined || id === null) return {};
  if (typeof id !== "string" && typeof id !== "number")
    throw createInvalidOutputError(
      `${path}.id must be a string or a number, got ${describeType(id)}`,
    );
  return { id, ...pickStrings(value, ["title", "url"]) };
}

const defaultMediaTypes = {
  image: "image/png",
  audio: "audio/mpeg",
  file: "application/octet-stream",
} as const;

function parseUrl(
  value: Record<string, unknown>,
  kind: keyof typeof defaultMediaTypes,
  path: string,
): { url: string } {
  const { bytes, media_type: mediaType } = value;
  if (bytes instanceof Uint8Array)
    return {
      url: toDataUrl(bytes, typeof mediaType === "string" ? mediaType : defaultMediaTypes[kind]),
    };
  const key = `${kind}_url`;
  const media = value[key];
  const url = isRecord(media) ? media["url"] : media;
  if (typeof url !== "string")
    throw createInvalidOutputError(`${path} must have ${key}: { url }, or bytes with a media_type`);
  return { url };
}

function pickStrings<Key extends string>(
  value: Record<string, unknown>,
  keys: readonly Key[],
): { [K in Key]?: string } {
  const strings: { [K in Key]?: string } = {};
  for (const key of keys) {
    const text = value[key];
    if (typeof text === "string") strings[key] = text;
  }
  return strings;
}

function parseTags(value: unknown): string[] | undefined {
  const tags = isRecord(value) ? value["tags"] : undefined;
  if (!Array.isArray(tags)) return undefined;
  return tags.filter((tag): tag is string => typeof tag === "string");
}

function toToolPart(block: ToolBlock, tags: string[] | undefined): ToolPart {
  const tagFields = tags === undefined || tags.length === 0 ? {} : { tags };
  switch (block.type) {
    case "text":
      return { ...block, ...tagFields };
    case "image":
      return { ...block, type: "image_url", ...tagFields };
    case "audio": {
      const { transcript: _transcript, ...audio } = block;
      return { ...audio, type: "audio_url", ...tagFields };
    }
    case "file":
      return { ...block, type: "file_url", ...tagFields };
    case "data": {
      const { data, ...group } = block;
      return { ...group, type: "text", text: JSON.stringify(data), ...tagFields };
    }
    default:
      return assertNever(block);
  }
}

function toToolBlock({ tags: _tags, ...part }: ToolPart): ToolBlock {
  switch (part.type) {
    case "text":
      return part;
    case "image_url":
      return { ...part, type: "image" };
    case "audio_url":
      return { ...part, type: "audio" };
    case "file_url":
      return { ...part, type: "file" };
    default:
      return assertNever(part);
  }
}

function stringifyJson(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw createInvalidOutputError("the value cannot be converted to JSON", cause);
  }
  if (text === undefined)
    throw createInvalidOutputError(`${describeType(value)} cannot be converted to JSON`);
  return text;
}

function toDataUrl(bytes: Uint8Array, mediaType: string): string {
  return `data:${mediaType};base64,${encodeBase64(bytes)}`;
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b, c] = bytes.subarray(index, index + 3);
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    text += base64Digits.charAt(bits >> 18) + base64Digits.charAt((bits >> 12) & 63);
    text += b === undefined ? "=" : base64Digits.charAt((bits >> 6) & 63);
    text += c === undefined ? "=" : base64Digits.charAt(bits & 63);
  }
  return text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describeType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

function createInvalidOutputError(message: string, cause?: unknown): TaskError {
  return new TaskError("invalid_tool_output", `tool output: ${message}`, { cause });
}
