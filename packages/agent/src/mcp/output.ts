import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { findExceededJsonLimit } from "@deltawire/wire";
import type { Redact } from "../redaction/redactor.ts";
import { redacted } from "../redaction/tool-output.ts";
import { McpError } from "./error.ts";
import { maxStructuredLength, shortened } from "./limits.ts";

/** As tools return them: bytes are put into the blob store by whoever runs the tool. */
type Piece = { id?: number; title?: string; url?: string } & (
  | { type: "text"; text: string }
  | { type: "image" | "audio"; bytes: Uint8Array; media_type: string }
  | { type: "file"; bytes: Uint8Array; media_type: string; filename?: string }
  | { type: "data"; data: unknown }
);

export interface McpOutput {
  message_content: Piece[];
  block_list: Piece[];
}

const maxUri = 2000;
const maxFilename = 255;
/** Of what a tool says when it fails. */
const maxFailure = 20_000;
/** How much is compared with the structured content to show it once: pieces, and the size of each. */
const maxCompared = 20;
const comparedLimits = { maxDepth: 300, maxValues: 10_000 };

/**
 * Every piece of content is a group of its own and can be cited. Throws what the tool says went wrong. A server may repeat
 * what it was let in with: that is taken out of all words, not of bytes.
 */
export function outputOf(result: CallToolResult, redact: Redact): McpOutput {
  const { content, isError } = result;
  const structuredContent = redacted(result.structuredContent, redact);
  const pieces = content.map((block, at) => ({
    ...(redacted(pieceOf(block), redact) as Piece),
    id: at + 1,
  }));
  if (isError === true) throw new McpError("mcp_tool_failed", wordsOf(pieces, structuredContent));
  if (structuredContent === undefined)
    return pieces.length === 0 ? nothing() : { message_content: pieces, block_list: pieces };
  // Servers say it once more as text, for clients that know nothing else: people see it once, as data.
  const same = JSON.stringify(structuredContent);
  const asText: Piece = { type: "text", text: same, id: pieces.length + 1 };
  const isLong = same.length > maxStructuredLength;
  const data: Piece = isLong
    ? asText
    : { type: "data", data: structuredContent, id: pieces.length + 1 };
  const repeated = isLong
    ? -1
    : pieces.slice(0, maxCompared).findIndex((one) => repeats(one, same));
  return {
    message_content: pieces.some(({ type }) => type === "text") ? pieces : [...pieces, asText],
    block_list:
      repeated === -1 ? [...pieces, data] : pieces.with(repeated, { ...data, id: repeated + 1 }),
  };
}

function nothing(): McpOutput {
  const piece: Piece = { type: "text", text: "(no output)" };
  return { message_content: [piece], block_list: [piece] };
}

function pieceOf(block: ContentBlock): Piece {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return {
        type: block.type,
        bytes: bytesOf(block.data),
        media_type: mediaTypeOf(block.mimeType),
      };
    case "resource": {
      const { resource } = block;
      const source = { title: shortened(resource.uri, maxUri), ...addressOf(resource.uri) };
      if ("text" in resource) return { type: "text", text: resource.text, ...source };
      const mediaType = mediaTypeOf(resource.mimeType ?? "application/octet-stream");
      const bytes = bytesOf(resource.blob);
      const kind = /^(?:image|audio)(?=\/)/.exec(mediaType)?.[0] as "image" | "audio" | undefined;
      return kind === undefined
        ? {
            type: "file",
            bytes,
            media_type: mediaType,
            filename: filenameOf(resource.uri),
            ...source,
          }
        : { type: kind, bytes, media_type: mediaType, ...source };
    }
    case "resource_link": {
      const { uri, title, name, description } = block;
      const about = description === undefined ? "" : `\n${description}`;
      const text = `${title ?? name}: ${uri}${about}`;
      return { type: "text", text, title: shortened(title ?? name, maxUri), ...addressOf(uri) };
    }
    default:
      // A kind of later protocols.
      return { type: "text", text: JSON.stringify(block) };
  }
}

function bytesOf(base64: string): Uint8Array {
  return Buffer.from(base64, "base64");
}

/** A server may send any text of any length as a media type. */
function mediaTypeOf(sent: string): string {
  return sent.length <= 200 ? sent : "application/octet-stream";
}

/** Other addresses mean something to the server only. */
function addressOf(uri: string): { url?: string } {
  return uri.length <= maxUri && /^https?:\/\//i.test(uri) ? { url: uri } : {};
}

function filenameOf(uri: string): string {
  const end = uri.search(/[?#]/);
  let stop = end === -1 ? uri.length : end;
  while (stop > 0 && uri[stop - 1] === "/") stop -= 1;
  const name = uri.slice(uri.lastIndexOf("/", stop - 1) + 1, stop);
  return name.slice(-maxFilename) || "file";
}

function repeats(piece: Piece, same: string): boolean {
  if (piece.type !== "text" || findExceededJsonLimit(piece.text, comparedLimits) !== undefined)
    return false;
  try {
    return JSON.stringify(JSON.parse(piece.text)) === same;
  } catch {
    return false;
  }
}

function wordsOf(pieces: readonly Piece[], structured: unknown): string {
  const words = pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : []));
  const text =
    words.length === 0 && structured !== undefined
      ? JSON.stringify(structured)
      : words.join("\n").trim();
  return shortened(text, maxFailure) || "the tool failed and did not say why";
}
