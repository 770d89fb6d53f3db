import { blobPath } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import type { ChatFixture } from "../../../../test/chats/chat-steps.ts";

const mediaModel = { images: false, tools: false, efforts: [] };

/** One of each type, all answered by the script. */
export const mediaModels = {
  painter: { ...mediaModel, type: "image-gen" },
  retoucher: { ...mediaModel, type: "image-edit", images: true },
  listener: { ...mediaModel, type: "audio-stt", audio: true },
  speaker: { ...mediaModel, type: "audio-tts" },
} as const;

/** A picture in base64. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An attachment that is in the store. */
export async function stored(
  { store }: ChatFixture,
  kind: Attachment["kind"],
  filename: string,
  media_type: string,
): Promise<Attachment> {
  const bytes = kind === "image" ? Buffer.from(pixel, "base64") : Buffer.from(`of ${filename}`);
  const url = blobPath + (await store.put(bytes, media_type));
  return { kind, url, filename, media_type };
}
