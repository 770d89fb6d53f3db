import { blobPath } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import type { ChatFixture } from "../../../../test/chats/chat-helpers.ts";

const mediaModel = { images: false, tools: false, efforts: [] };

/** One model of each type; all follow the script. */
export const mediaModels = {
  painter: { ...mediaModel, type: "image-gen" },
  retoucher: { ...mediaModel, type: "image-edit", images: true },
  listener: { ...mediaModel, type: "audio-stt", audio: true },
  speaker: { ...mediaModel, type: "audio-tts" },
} as const;

/** A PNG image in base64. */
export const pixelBase64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Stores a blob and returns an attachment with its URL. */
export async function storeAttachment(
  { store }: ChatFixture,
  kind: Attachment["kind"],
  filename: string,
  media_type: string,
): Promise<Attachment> {
  const bytes =
    kind === "image" ? Buffer.from(pixelBase64, "base64") : Buffer.from(`of ${filename}`);
  const url = blobPath + (await store.put(bytes, media_type));
  return { kind, url, filename, media_type };
}
