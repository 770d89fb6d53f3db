import { bareType, blobPath, readDataUrl, type BlobStore } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import { surerType, typeOfBytes } from "../media/media-types.ts";
import { invalid } from "../parse-body.ts";

/**
 * Attachments that came with the request, in the store; of all that are there it is told what they are. One that calls
 * itself a picture or a sound has to be one, as far as its bytes tell.
 */
export async function withKeptAttachments<
  Message extends { readonly attachments?: readonly Attachment[] },
>(message: Message, blobs: BlobStore): Promise<Message> {
  if (message.attachments === undefined) return message;
  const kept = message.attachments.map(async (attachment, index) => {
    const { url } = attachment;
    const param = `attachments[${index}]`;
    if (/^data:/i.test(url))
      return keptBytes(attachment, bytesOf(url, `${param}.url`), blobs, param);
    return url.startsWith(blobPath) ? knownBlob(attachment, blobs, param) : attachment;
  });
  return { ...message, attachments: await Promise.all(kept) };
}

async function keptBytes(
  attachment: Attachment,
  { bytes, mediaType }: { bytes: Buffer; mediaType: string },
  blobs: BlobStore,
  param: string,
): Promise<Attachment> {
  const media_type = checkedType(attachment, mediaType, bytes, param);
  const url = blobPath + (await blobs.put(bytes, media_type));
  return { ...attachment, url, media_type, size: bytes.length };
}

async function knownBlob(
  attachment: Attachment,
  blobs: BlobStore,
  param: string,
): Promise<Attachment> {
  const blob = await blobs.get(attachment.url.slice(blobPath.length));
  if (blob === undefined)
    throw invalid(
      `${param}.url`,
      "there is no such blob; files that are not sent are stored for 30 days: attach it again",
    );
  const media_type = checkedType(attachment, blob.mediaType, blob.bytes, param);
  return { ...attachment, media_type, size: blob.bytes.byteLength };
}

/** Of a picture or a sound its bytes know better than anybody who names it. */
function checkedType(
  { kind, media_type }: Attachment,
  stored: string,
  bytes: Uint8Array,
  param: string,
): string {
  const told = media_type ?? stored;
  if (kind === "file") return told;
  const head = Buffer.from(bytes.subarray(0, headBytes));
  const found = typeOfBytes(head);
  const type = surerType(told, found);
  const is = found === undefined && isText(head) ? textType(type) : bareType(type);
  if (is === unknownType || kinds[kind].test(is)) return type;
  const noun = kind === "image" ? "picture" : "sound";
  throw invalid(
    `${param}.kind`,
    `this is no ${noun} but ${is}: call it "file", or attach a ${noun}`,
  );
}

const headBytes = 4096;
const unknownType = "application/octet-stream";
const kinds = { image: /^image\//, audio: /^(?:audio|video)\// } as const;

/** Nobody knows all formats, but none of a picture or a sound reads as text, with the exception of SVG. */
function isText(head: Buffer): boolean {
  try {
    // A character may be cut at the end.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return !text.includes("\0");
  } catch {
    return false;
  }
}

function textType(told: string): string {
  const type = bareType(told);
  return /^(?:image|audio|video)\/(?!svg\+xml$)/.test(type) || type === unknownType ? "text" : type;
}

function bytesOf(url: string, param: string): { bytes: Buffer; mediaType: string } {
  const read = readDataUrl(url);
  if (read === undefined) throw invalid(param, "expected data:TYPE;base64,BYTES");
  const { mediaType, isBase64, body } = read;
  const bytes = isBase64 ? base64Bytes(body) : unescaped(body);
  if (bytes === undefined || bytes.length === 0)
    throw invalid(param, `expected ${isBase64 ? "base64" : "text"} behind the comma`);
  return { bytes, mediaType: mediaType || "text/plain" };
}

function base64Bytes(text: string): Buffer | undefined {
  return /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

function unescaped(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text), "utf8");
  } catch {
    return undefined;
  }
}
