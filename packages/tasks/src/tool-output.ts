import { TaskError, unreachable } from "./error.ts";
import type { Block, ContentPart } from "./items.ts";
import type { JsonValue } from "./json.ts";

/** What a tool gives: parts for the model, blocks for people. */
export interface ToolOutput {
  message_content: ToolPart[];
  block_list: ToolBlock[];
}

/** Parts and blocks with the same `id` are one group, which can be cited. `title` and `url` tell where it is from. */
export interface Grouped {
  id?: string | number;
  title?: string;
  url?: string;
}
type WithGroup<T> = T extends unknown ? Omit<T, "id"> & Grouped : never;
export type ToolPart = WithGroup<ContentPart>;
export type ToolBlock = WithGroup<Block>;

/**
 * Whatever a tool returned, as parts and blocks. `{ message_content, block_list }` is checked and taken as it is; one of
 * the two alone gives the other. Any other value becomes both. Pictures and files may come as `bytes` with a
 * `media_type` and become data urls.
 */
export function normalizeToolOutput(value: unknown): ToolOutput {
  if (value === undefined || value === null || value === "") return textOutput("(no output)");
  if (typeof value === "string") return textOutput(value);
  if (value instanceof Uint8Array)
    return fromBlocks([readBlock({ type: "file", bytes: value }, "the output")]);
  if (isRecord(value) && value["bytes"] instanceof Uint8Array)
    return fromBlocks([readBlock(value, "the output")]);
  if (isRecord(value) && ("message_content" in value || "block_list" in value))
    return readOutput(value);
  const text = jsonText(value);
  if (typeof value !== "object") return textOutput(text);
  return {
    message_content: [{ type: "text", text }],
    block_list: [{ type: "data", data: JSON.parse(text) as JsonValue }],
  };
}

function textOutput(text: string): ToolOutput {
  return { message_content: [{ type: "text", text }], block_list: [{ type: "text", text }] };
}

function readOutput(value: Record<string, unknown>): ToolOutput {
  const { message_content: content, block_list: list } = value;
  const parts =
    content === undefined
      ? undefined
      : listOf(content, "message_content").map((part, at) =>
          partOf(readBlock(part, `message_content[${at}]`), tagsOf(part)),
        );
  const blocks =
    list === undefined
      ? undefined
      : listOf(list, "block_list").map((block, at) => readBlock(block, `block_list[${at}]`));
  if (parts === undefined) return fromBlocks(blocks ?? []);
  return { message_content: parts, block_list: blocks ?? parts.map(blockOf) };
}

function fromBlocks(blocks: ToolBlock[]): ToolOutput {
  return { message_content: blocks.map((block) => partOf(block, undefined)), block_list: blocks };
}

function listOf(value: unknown, where: string): unknown[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  if (!Array.isArray(value)) throw invalid(`${where} must be a list, not ${kindOf(value)}`);
  return value;
}

/** People's and the model's names of a kind are read alike, `image` and `image_url`. */
function readBlock(value: unknown, where: string): ToolBlock {
  if (!isRecord(value)) throw invalid(`${where} must be an object, not ${kindOf(value)}`);
  const group = groupOf(value, where);
  switch (value["type"]) {
    case "text":
      if (typeof value["text"] !== "string") throw invalid(`${where}.text must be a string`);
      return { type: "text", text: value["text"], ...group };
    case "image":
    case "image_url":
      return { type: "image", image_url: readUrl(value, "image", where), ...group };
    case "audio":
    case "audio_url":
      return {
        type: "audio",
        audio_url: readUrl(value, "audio", where),
        ...stringsOf(value, ["transcript"]),
        ...group,
      };
    case "file":
    case "file_url":
      return {
        type: "file",
        file_url: readUrl(value, "file", where),
        ...stringsOf(value, ["filename", "media_type"]),
        ...group,
      };
    case "data":
      return { type: "data", data: JSON.parse(jsonText(value["data"])) as JsonValue, ...group };
    default:
      throw invalid(
        `${where}.type is ${JSON.stringify(value["type"])}; it must be text, image, audio, file or data`,
      );
  }
}

function groupOf(value: Record<string, unknown>, where: string): Grouped {
  const { id } = value;
  if (id === undefined || id === null) return {};
  if (typeof id !== "string" && typeof id !== "number")
    throw invalid(`${where}.id must be a string or a number, not ${kindOf(id)}`);
  return { id, ...stringsOf(value, ["title", "url"]) };
}

const defaultMediaTypes = {
  image: "image/png",
  audio: "audio/mpeg",
  file: "application/octet-stream",
} as const;

function readUrl(
  value: Record<string, unknown>,
  kind: keyof typeof defaultMediaTypes,
  where: string,
): { url: string } {
  const { bytes, media_type: mediaType } = value;
  if (bytes instanceof Uint8Array)
    return {
      url: dataUrl(bytes, typeof mediaType === "string" ? mediaType : defaultMediaTypes[kind]),
    };
  const key = `${kind}_url`;
  const given = value[key];
  const url = isRecord(given) ? given["url"] : given;
  if (typeof url !== "string")
    throw invalid(`${where} needs ${key}: { url }, or bytes with a media_type`);
  return { url };
}

function stringsOf<Key extends string>(
  value: Record<string, unknown>,
  keys: readonly Key[],
): { [K in Key]?: string } {
  const found: { [K in Key]?: string } = {};
  for (const key of keys) {
    const text = value[key];
    if (typeof text === "string") found[key] = text;
  }
  return found;
}

function tagsOf(value: unknown): string[] | undefined {
  const tags = isRecord(value) ? value["tags"] : undefined;
  if (!Array.isArray(tags)) return undefined;
  return tags.filter((tag): tag is string => typeof tag === "string");
}

function partOf(block: ToolBlock, tags: string[] | undefined): ToolPart {
  const more = tags === undefined || tags.length === 0 ? {} : { tags };
  switch (block.type) {
    case "text":
      return { ...block, ...more };
    case "image":
      return { ...block, type: "image_url", ...more };
    case "audio": {
      const { transcript: _transcript, ...audio } = block;
      return { ...audio, type: "audio_url", ...more };
    }
    case "file":
      return { ...block, type: "file_url", ...more };
    case "data": {
      const { data, ...group } = block;
      return { ...group, type: "text", text: JSON.stringify(data), ...more };
    }
    default:
      return unreachable(block);
  }
}

function blockOf({ tags: _tags, ...part }: ToolPart): ToolBlock {
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
      return unreachable(part);
  }
}

function jsonText(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new TaskError("invalid_tool_output", "the tool's output cannot be written as JSON", {
      cause,
    });
  }
  if (text === undefined) throw invalid(`${kindOf(value)} cannot be written as JSON`);
  return text;
}

function dataUrl(bytes: Uint8Array, mediaType: string): string {
  return `data:${mediaType};base64,${base64(bytes)}`;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b, c] = bytes.subarray(at, at + 3);
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    text += digits.charAt(bits >> 18) + digits.charAt((bits >> 12) & 63);
    text += b === undefined ? "=" : digits.charAt((bits >> 6) & 63);
    text += c === undefined ? "=" : digits.charAt(bits & 63);
  }
  return text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

function invalid(message: string): TaskError {
  return new TaskError("invalid_tool_output", `the tool's output: ${message}`);
}
