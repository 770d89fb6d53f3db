import { mediaTypeEssence, blobPath, parseDataUrl, type BlobStore } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import { reconcileMediaType, detectMediaType } from "../media/media-types.ts";
import { invalidRequest } from "../parse-body.ts";

/**
 * Stores attachments that are sent as data URLs, and adds the media type and size to all stored ones. Throws a
 * GatewayError (400) if the bytes of an image or audio attachment show that it is something else.
 */
export async function storeAttachments<
  Message extends { readonly attachments?: readonly Attachment[] },
>(message: Message, blobs: BlobStore): Promise<Message> {
  if (message.attachments === undefined) return message;
  const attachments = message.attachments.map(async (attachment, index) => {
    const { url } = attachment;
    const param = `attachments[${index}]`;
    if (/^data:/i.test(url))
      return storeBytes(attachment, decodeDataUrl(url, `${param}.url`), blobs, param);
    return url.startsWith(blobPath) ? resolveBlob(attachment, blobs, param) : attachment;
  });
  return { ...message, attachments: await Promise.all(attachments) };
}

async function storeBytes(
  attachment: Attachment,
  { bytes, mediaType }: { bytes: Buffer; mediaType: string },
  blobs: BlobStore,
  param: string,
): Promise<Attachment> {
  const media_type = resolveMediaType(attachment, mediaType, bytes, param);
  const url = blobPath + (await blobs.put(bytes, media_type));
  return { ...attachment, url, media_type, size: bytes.length };
}

async function resolveBlob(
  attachment: Attachment,
  blobs: BlobStore,
  param: string,
): Promise<Attachment> {
  const blob = await blobs.get(attachment.url.slice(blobPath.length));
  if (blob === undefined)
    throw invalidRequest(
      `${param}.url`,
      "blob not found; files of unsent messages are deleted after 30 days, so attach it again",
    );
  const media_type = resolveMediaType(attachment, blob.mediaType, blob.bytes, param);
  return { ...attachment, media_type, size: blob.bytes.byteLength };
}

/** Returns the declared media type; for images and audio the detected one takes precedence. Throws if it does not match `kind`. */
function resolveMediaType(
  { kind, media_type }: Attachment,
  stored: string,
  bytes: Uint8Array,
  param: string,
): string {
  const declared = media_type ?? stored;
  if (kind === "file") return declared;
  const head = Buffer.from(bytes.subarray(0, headBytes));
  const detected = detectMediaType(head);
  const type = reconcileMediaType(declared, detected);
  const effectiveType =
    detected === undefined && looksLikeText(head) ? toTextType(type) : mediaTypeEssence(type);
  if (effectiveType === unknownType || typePatterns[kind].test(effectiveType)) return type;
  throw invalidRequest(
    `${param}.kind`,
    `expected the media type of ${kind === "image" ? "an image" : "audio"}, got ${effectiveType}; attach it as "file" instead`,
  );
}

const headBytes = 4096;
const unknownType = "application/octet-stream";
const typePatterns = { image: /^image\//, audio: /^(?:audio|video)\// } as const;

/** Not every image or audio format can be detected, but none of them except SVG is valid text. */
function looksLikeText(head: Buffer): boolean {
  try {
    // `stream`: the last character may be cut off.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return !text.includes("\0");
  } catch {
    return false;
  }
}

function toTextType(declared: string): string {
  const type = mediaTypeEssence(declared);
  return /^(?:image|audio|video)\/(?!svg\+xml$)/.test(type) || type === unknownType ? "text" : type;
}

function decodeDataUrl(url: string, param: string): { bytes: Buffer; mediaType: string } {
  const dataUrl = parseDataUrl(url);
  if (dataUrl === undefined) throw invalidRequest(param, "expected data:TYPE;base64,BYTES");
  const { mediaType, isBase64, body } = dataUrl;
  const bytes = isBase64 ? decodeBase64(body) : decodePercentEncoded(body);
  if (bytes === undefined || bytes.length === 0)
    throw invalidRequest(param, `expected ${isBase64 ? "base64" : "text"} after the comma`);
  return { bytes, mediaType: mediaType || "text/plain" };
}

function decodeBase64(text: string): Buffer | undefined {
  return /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

function decodePercentEncoded(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text), "utf8");
  } catch {
    return undefined;
  }
}
