import type { Attachment, ChatClient } from "@deltawire/tasks/chats";
import { formatError, type Notifier } from "./notifier.ts";

/** Uploads a file as an attachment for a draft. If that fails, shows a toast and resolves to undefined. */
export async function uploadFile(
  file: File,
  client: ChatClient,
  notifier: Notifier,
): Promise<Attachment | undefined> {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const mediaType = file.type === "" ? unknownMediaType : file.type;
    const blob = await client.putBlob(bytes, { mediaType, filename: file.name });
    const media_type = refineMediaType(blob.media_type, bytes);
    return { ...blob, kind: toAttachmentKind(media_type), filename: file.name, media_type };
  } catch (failure) {
    const t = notifier.getMessages();
    notifier.error(t.uploadFailed(file.name, formatError(failure, t)));
    return undefined;
  }
}

const unknownMediaType = "application/octet-stream";
const headBytes = 64 * 1024;

/** Browsers report no media type for most source code, so files of unknown type that are UTF-8 count as text. */
function refineMediaType(reportedType: string, bytes: Uint8Array): string {
  return reportedType === unknownMediaType && isUtf8Text(bytes.subarray(0, headBytes))
    ? "text/plain"
    : reportedType;
}

/** Image types that models do not accept are sent as files. */
function toAttachmentKind(mediaType: string): Attachment["kind"] {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) return "image";
  return mediaType.startsWith("audio/") ? "audio" : "file";
}

/** True if the first bytes of a file are UTF-8 text. The last character may be incomplete. */
export function isUtf8Text(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return !text.includes("\0");
  } catch {
    return false;
  }
}
