import type { Repairs } from "../repairs.ts";
import type { ChatContent, ChatContentPart } from "../shapes/chat-request.ts";
import { hasBreakpoint, toBreakpointField } from "./cache-breakpoints.ts";
import type { ResponseInputContent } from "../shapes/responses-request.ts";

/** Converts the content of a Responses item to Chat parts. Drops empty text parts, which Bedrock rejects. */
export function toChatParts(
  content: string | ResponseInputContent[],
  repairs: Repairs,
): ChatContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: ChatContentPart[] = [];
  for (const part of content) {
    const chatPart = addBreakpoint(toChatPart(part, repairs), part);
    if (chatPart !== undefined && !(chatPart.type === "text" && chatPart.text === ""))
      parts.push(chatPart);
  }
  return parts;
}

function addBreakpoint(
  chatPart: ChatContentPart | undefined,
  part: ResponseInputContent,
): ChatContentPart | undefined {
  return chatPart === undefined || !hasBreakpoint(part)
    ? chatPart
    : { ...chatPart, ...toBreakpointField(part) };
}

/**
 * Joins parts into one string if all of them are text without a cache breakpoint: every server accepts strings, but some
 * reject parts.
 */
export function toChatContent(parts: readonly ChatContentPart[]): ChatContent {
  const isPlainText = parts.every((part) => part.type === "text" && !hasBreakpoint(part));
  return isPlainText ? joinTextParts(parts) : [...parts];
}

export function joinTextParts(parts: readonly ChatContentPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

export function getMediaParts(parts: readonly ChatContentPart[]): ChatContentPart[] {
  return parts.filter((part) => part.type !== "text");
}

function toChatPart(part: ResponseInputContent, repairs: Repairs): ChatContentPart | undefined {
  switch (part.type) {
    case "input_image":
    case "image_url":
    case "computer_screenshot":
      return toImagePart(part, repairs);
    case "input_file":
      return toFilePart(part, repairs);
    case "input_audio":
      if (part.input_audio) return { type: "input_audio", input_audio: part.input_audio };
      return undefined;
    case "refusal":
      repairs.add("content_converted", "refusal sent as text");
      return { type: "text", text: part.refusal ?? "" };
    default:
      return toTextPart(part, repairs);
  }
}

function toImagePart(part: ResponseInputContent, repairs: Repairs): ChatContentPart {
  const { image_url: image } = part;
  const url = typeof image === "string" ? image : image?.url;
  if (!url) return toPlaceholderPart("image", part.file_id, repairs);
  const detail = typeof image === "object" ? image?.["detail"] : part.detail;
  // Only OpenAI supports other values, such as "original"; "auto" is the default.
  return detail === "low" || detail === "high"
    ? { type: "image_url", image_url: { url, detail } }
    : { type: "image_url", image_url: { url } };
}

function toFilePart(part: ResponseInputContent, repairs: Repairs): ChatContentPart {
  const { file_data: data, file_id: id, file_url: url, filename } = part;
  if (data) return { type: "file", file: { ...(filename ? { filename } : {}), file_data: data } };
  if (id) return { type: "file", file: { file_id: id } };
  return toPlaceholderPart("file", url ?? filename, repairs);
}

/** Replaces content that has no Chat equivalent, so that the model knows about the omission. */
function toPlaceholderPart(
  kind: string,
  name: string | null | undefined,
  repairs: Repairs,
): ChatContentPart {
  const text = name ? `[${kind}: ${name}]` : `[${kind}]`;
  repairs.add("content_converted", text);
  return { type: "text", text };
}

function toTextPart(part: ResponseInputContent, repairs: Repairs): ChatContentPart {
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const { transcript } = part; // of the assistant's audio
  if (typeof transcript === "string") return { type: "text", text: transcript };
  return toPlaceholderPart(part.type, undefined, repairs);
}
