import type { Repairs } from "../repairs.ts";
import type { ChatContent, ChatContentPart } from "../shapes/chat-request.ts";
import type { ContentPart } from "../shapes/responses-request.ts";

/** Content of a Responses item as Chat parts; empty texts are left out, for Bedrock refuses them. */
export function chatParts(content: string | ContentPart[], repairs: Repairs): ChatContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: ChatContentPart[] = [];
  for (const part of content) {
    const translated = chatPart(part, repairs);
    if (translated !== undefined && !(translated.type === "text" && translated.text === ""))
      parts.push(translated);
  }
  return parts;
}

/** One string where there is nothing but text: every server takes that, not every server takes parts. */
export function chatContent(parts: readonly ChatContentPart[]): ChatContent {
  return parts.every((part) => part.type === "text") ? textOf(parts) : [...parts];
}

export function textOf(parts: readonly ChatContentPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

export function mediaOf(parts: readonly ChatContentPart[]): ChatContentPart[] {
  return parts.filter((part) => part.type !== "text");
}

function chatPart(part: ContentPart, repairs: Repairs): ChatContentPart | undefined {
  switch (part.type) {
    case "input_image":
    case "image_url":
    case "computer_screenshot":
      return imagePart(part, repairs);
    case "input_file":
      return filePart(part, repairs);
    case "input_audio":
      if (part.input_audio) return { type: "input_audio", input_audio: part.input_audio };
      return undefined;
    case "refusal":
      repairs.add("content_converted", "a refusal said as text");
      return { type: "text", text: part.refusal ?? "" };
    default:
      return textPart(part, repairs);
  }
}

function imagePart(part: ContentPart, repairs: Repairs): ChatContentPart {
  const { image_url: image } = part;
  const url = typeof image === "string" ? image : image?.url;
  if (!url) return named("image", part.file_id, repairs);
  const detail = typeof image === "object" ? image?.["detail"] : part.detail;
  // "original" and whatever comes next is OpenAI's alone; "auto" is what everyone does anyway.
  return detail === "low" || detail === "high"
    ? { type: "image_url", image_url: { url, detail } }
    : { type: "image_url", image_url: { url } };
}

function filePart(part: ContentPart, repairs: Repairs): ChatContentPart {
  const { file_data: data, file_id: id, file_url: url, filename } = part;
  if (data) return { type: "file", file: { ...(filename ? { filename } : {}), file_data: data } };
  if (id) return { type: "file", file: { file_id: id } };
  return named("file", url ?? filename, repairs);
}

/** What Chat has no part for is at least mentioned, so that the model does not believe there was nothing. */
function named(what: string, name: string | null | undefined, repairs: Repairs): ChatContentPart {
  const text = name ? `[${what}: ${name}]` : `[${what}]`;
  repairs.add("content_converted", text);
  return { type: "text", text };
}

function textPart(part: ContentPart, repairs: Repairs): ChatContentPart {
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const { transcript } = part; // what is left of the assistant's own audio
  if (typeof transcript === "string") return { type: "text", text: transcript };
  return named(part.type, undefined, repairs);
}
