import { parseDataUrl } from "@deltawire/tasks";
import {
  asString,
  isObject,
  type ResponseInputContent,
  type ResponseInputItem,
  type JsonObject,
  type ResponsesRequest,
} from "@deltawire/wire";
import { toAudioType, reconcileMediaType, detectMediaType } from "./media-types.ts";

/** An attached image or audio file. */
export interface InputFile {
  bytes: Buffer;
  mediaType: string;
}

/** The last user message, for a media model. */
export interface MediaPrompt {
  text: string;
  images: InputFile[];
  audio: InputFile[];
  /** URLs of files that the request links to but does not contain. They are not fetched. */
  linkedUrls: string[];
}

export function parseMediaPrompt({ input }: ResponsesRequest): MediaPrompt {
  const prompt: MediaPrompt = { text: "", images: [], audio: [], linkedUrls: [] };
  const content = typeof input === "string" ? input : getContent(input?.findLast(isUserMessage));
  if (typeof content === "string") return { ...prompt, text: content };
  const texts: string[] = [];
  for (const part of content) {
    if (typeof part.text === "string") texts.push(part.text);
    else addFile(part, prompt);
  }
  return { ...prompt, text: texts.join("\n").trim() };
}

function isUserMessage(item: ResponseInputItem): boolean {
  const { type = "message", role } = item as JsonObject;
  return (type === "message" || type === null) && role === "user";
}

function getContent(item: ResponseInputItem | undefined): string | ResponseInputContent[] {
  const { content } = (item ?? {}) as JsonObject;
  return typeof content === "string" ? content : ((content ?? []) as ResponseInputContent[]);
}

function addFile(part: ResponseInputContent, { images, audio, linkedUrls }: MediaPrompt): void {
  const url = getFileUrl(part);
  if (url === "") return;
  const file = decodeDataUrl(url);
  if (file === undefined) linkedUrls.push(url);
  else if (file.mediaType.startsWith("image/")) images.push(file);
  // Browsers often record audio as a video without frames.
  else if (/^(?:audio|video)\//.test(file.mediaType)) audio.push(file);
}

function getFileUrl({
  type,
  image_url,
  file_data,
  file_url,
  input_audio,
}: ResponseInputContent): string {
  switch (type) {
    case "input_image":
      return isObject(image_url) ? asString(image_url["url"]) : asString(image_url);
    case "input_file":
      return asString(file_data) || asString(file_url);
    case "input_audio": {
      const { url, data, format } = input_audio ?? {};
      if (typeof data !== "string") return asString(url);
      return `data:${toAudioType(asString(format) || "mp3")};base64,${data}`;
    }
    default:
      return "";
  }
}

/** Returns undefined if `url` is not a `data:` URL. */
function decodeDataUrl(url: string): InputFile | undefined {
  const dataUrl = parseDataUrl(url);
  if (dataUrl === undefined) return undefined;
  const { mediaType, isBase64, body } = dataUrl;
  const bytes = isBase64
    ? Buffer.from(body, "base64")
    : Buffer.from(decodePercentEscapes(body), "latin1");
  return { bytes, mediaType: reconcileMediaType(mediaType, detectMediaType(bytes)) };
}

function decodePercentEscapes(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_match, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
