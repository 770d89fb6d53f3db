import { readDataUrl } from "@deltawire/tasks";
import {
  asText,
  isObject,
  type ContentPart,
  type InputItem,
  type JsonObject,
  type ResponsesRequest,
} from "@deltawire/wire";
import { soundTypeOf, surerType, typeOfBytes } from "./media-types.ts";

/** A picture or a sound that came with the words. */
export interface GivenFile {
  bytes: Buffer;
  mediaType: string;
}

/** What the user said last, for a model that makes something of it. */
export interface UserMessage {
  text: string;
  images: GivenFile[];
  sounds: GivenFile[];
  /** Addresses of pictures and sounds that did not come with the request. Nothing is fetched from here. */
  linked: string[];
}

export function lastUserMessage({ input }: ResponsesRequest): UserMessage {
  const message: UserMessage = { text: "", images: [], sounds: [], linked: [] };
  const content = typeof input === "string" ? input : contentOf(input?.findLast(isOfUser));
  if (typeof content === "string") return { ...message, text: content };
  const texts: string[] = [];
  for (const part of content) {
    if (typeof part.text === "string") texts.push(part.text);
    else readFile(part, message);
  }
  return { ...message, text: texts.join("\n").trim() };
}

function isOfUser(item: InputItem): boolean {
  const { type = "message", role } = item as JsonObject;
  return (type === "message" || type === null) && role === "user";
}

function contentOf(item: InputItem | undefined): string | ContentPart[] {
  const { content } = (item ?? {}) as JsonObject;
  return typeof content === "string" ? content : ((content ?? []) as ContentPart[]);
}

function readFile(part: ContentPart, { images, sounds, linked }: UserMessage): void {
  const url = addressOf(part);
  if (url === "") return;
  const file = fileOf(url);
  if (file === undefined) linked.push(url);
  else if (file.mediaType.startsWith("image/")) images.push(file);
  // A recording in a browser is often a video without a picture.
  else if (/^(?:audio|video)\//.test(file.mediaType)) sounds.push(file);
}

function addressOf({ type, image_url, file_data, file_url, input_audio }: ContentPart): string {
  switch (type) {
    case "input_image":
      return isObject(image_url) ? asText(image_url["url"]) : asText(image_url);
    case "input_file":
      return asText(file_data) || asText(file_url);
    case "input_audio": {
      const { url, data, format } = input_audio ?? {};
      if (typeof data !== "string") return asText(url);
      return `data:${soundTypeOf(asText(format) || "mp3")};base64,${data}`;
    }
    default:
      return "";
  }
}

/** Of a `data:` URL. */
function fileOf(url: string): GivenFile | undefined {
  const read = readDataUrl(url);
  if (read === undefined) return undefined;
  const { mediaType, isBase64, body } = read;
  const bytes = isBase64 ? Buffer.from(body, "base64") : Buffer.from(unescaped(body), "latin1");
  return { bytes, mediaType: surerType(mediaType, typeOfBytes(bytes)) };
}

function unescaped(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
