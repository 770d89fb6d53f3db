import type { Attachment, ChatClient } from "@deltawire/tasks/chats";
import { textOf, type Telling } from "./telling.ts";

/** Stores a file as a blob, to be put into a draft. Undefined where that failed, which a toast says. */
export async function uploadFile(
  file: File,
  client: ChatClient,
  telling: Telling,
): Promise<Attachment | undefined> {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const mediaType = file.type === "" ? unknownType : file.type;
    const blob = await client.putBlob(bytes, { mediaType, filename: file.name });
    const media_type = surerType(blob.media_type, bytes);
    return { ...blob, kind: kindOf(media_type), filename: file.name, media_type };
  } catch (failure) {
    const words = telling.words();
    telling.error(words.fileFailed(file.name, textOf(failure, words)));
    return undefined;
  }
}

const unknownType = "application/octet-stream";
const headBytes = 64 * 1024;

/** Few systems know what a file of some programming language is; whoever reads it does. */
function surerType(told: string, bytes: Uint8Array): string {
  return told === unknownType && isText(bytes.subarray(0, headBytes)) ? "text/plain" : told;
}

/** Other pictures are files for a model. */
function kindOf(mediaType: string): Attachment["kind"] {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) return "image";
  return mediaType.startsWith("audio/") ? "audio" : "file";
}

/** Whether the first bytes of a file read as a text in UTF-8. A character may be cut at their end. */
export function isText(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return !text.includes("\0");
  } catch {
    return false;
  }
}
