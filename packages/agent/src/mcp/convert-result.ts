import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { findExceededJsonLimit } from "@deltawire/wire";
import type { Redact } from "../redaction/redactor.ts";
import { redactValue } from "../redaction/redact-tool-output.ts";
import { McpError } from "./error.ts";
import { maxStructuredLength, truncateWithCount } from "./limits.ts";

/** A content part as tools return it. The runtime moves `bytes` to the blob store. */
type McpContentPart = { id?: number; title?: string; url?: string } & (
  | { type: "text"; text: string }
  | { type: "image" | "audio"; bytes: Uint8Array; media_type: string }
  | { type: "file"; bytes: Uint8Array; media_type: string; filename?: string }
  | { type: "data"; data: unknown }
);

export interface McpOutput {
  message_content: McpContentPart[];
  block_list: McpContentPart[];
}

const maxUriLength = 2000;
const maxFilenameLength = 255;
/** Maximum length of the message of a failed tool. */
const maxFailureLength = 20_000;
/** Limits for comparing parts with the structured content, to show it only once. */
const maxComparedParts = 20;
const comparedLimits = { maxDepth: 300, maxValues: 10_000 };

/**
 * Converts the result of an MCP tool. Every content block gets its own id and can be cited. Throws an McpError with the
 * tool's message if the tool failed. Credentials that the server repeats are redacted in strings, not in bytes.
 */
export function convertToolResult(result: CallToolResult, redact: Redact): McpOutput {
  const { content, isError } = result;
  const structuredContent = redactValue(result.structuredContent, redact);
  const parts = content.map((block, index) => ({
    ...(redactValue(convertContentBlock(block), redact) as McpContentPart),
    id: index + 1,
  }));
  if (isError === true)
    throw new McpError("mcp_tool_failed", formatFailure(parts, structuredContent));
  if (structuredContent === undefined)
    return parts.length === 0 ? createEmptyOutput() : { message_content: parts, block_list: parts };
  // Servers repeat structured content as text, for older clients. Users see it only once, as data.
  const structuredJson = JSON.stringify(structuredContent);
  const textPart: McpContentPart = { type: "text", text: structuredJson, id: parts.length + 1 };
  const isLong = structuredJson.length > maxStructuredLength;
  const data: McpContentPart = isLong
    ? textPart
    : { type: "data", data: structuredContent, id: parts.length + 1 };
  const duplicateIndex = isLong
    ? -1
    : parts
        .slice(0, maxComparedParts)
        .findIndex((candidate) => isSameJson(candidate, structuredJson));
  return {
    message_content: parts.some(({ type }) => type === "text") ? parts : [...parts, textPart],
    block_list:
      duplicateIndex === -1
        ? [...parts, data]
        : parts.with(duplicateIndex, { ...data, id: duplicateIndex + 1 }),
  };
}

function createEmptyOutput(): McpOutput {
  const part: McpContentPart = { type: "text", text: "(no output)" };
  return { message_content: [part], block_list: [part] };
}

function convertContentBlock(block: ContentBlock): McpContentPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return {
        type: block.type,
        bytes: decodeBase64(block.data),
        media_type: sanitizeMediaType(block.mimeType),
      };
    case "resource": {
      const { resource } = block;
      const source = {
        title: truncateWithCount(resource.uri, maxUriLength),
        ...toUrlField(resource.uri),
      };
      if ("text" in resource) return { type: "text", text: resource.text, ...source };
      const mediaType = sanitizeMediaType(resource.mimeType ?? "application/octet-stream");
      const bytes = decodeBase64(resource.blob);
      const kind = /^(?:image|audio)(?=\/)/.exec(mediaType)?.[0] as "image" | "audio" | undefined;
      return kind === undefined
        ? {
            type: "file",
            bytes,
            media_type: mediaType,
            filename: getUriFilename(resource.uri),
            ...source,
          }
        : { type: kind, bytes, media_type: mediaType, ...source };
    }
    case "resource_link": {
      const { uri, title, name, description } = block;
      const descriptionText = description === undefined ? "" : `\n${description}`;
      const text = `${title ?? name}: ${uri}${descriptionText}`;
      return {
        type: "text",
        text,
        title: truncateWithCount(title ?? name, maxUriLength),
        ...toUrlField(uri),
      };
    }
    default:
      // A block type of a later protocol version.
      return { type: "text", text: JSON.stringify(block) };
  }
}

function decodeBase64(base64: string): Uint8Array {
  return Buffer.from(base64, "base64");
}

/** Replaces overlong media types, because servers may send any string. */
function sanitizeMediaType(mimeType: string): string {
  return mimeType.length <= 200 ? mimeType : "application/octet-stream";
}

/** Returns the `url` field for a web URL. Other URIs are only meaningful to the server. */
function toUrlField(uri: string): { url?: string } {
  return uri.length <= maxUriLength && /^https?:\/\//i.test(uri) ? { url: uri } : {};
}

function getUriFilename(uri: string): string {
  const suffixStart = uri.search(/[?#]/);
  let end = suffixStart === -1 ? uri.length : suffixStart;
  while (end > 0 && uri[end - 1] === "/") end -= 1;
  const name = uri.slice(uri.lastIndexOf("/", end - 1) + 1, end);
  return name.slice(-maxFilenameLength) || "file";
}

function isSameJson(part: McpContentPart, structuredJson: string): boolean {
  if (part.type !== "text" || findExceededJsonLimit(part.text, comparedLimits) !== undefined)
    return false;
  try {
    return JSON.stringify(JSON.parse(part.text)) === structuredJson;
  } catch {
    return false;
  }
}

function formatFailure(parts: readonly McpContentPart[], structured: unknown): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text =
    texts.length === 0 && structured !== undefined
      ? JSON.stringify(structured)
      : texts.join("\n").trim();
  return truncateWithCount(text, maxFailureLength) || "the tool failed without a message";
}
