import { blobPath } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import type { World } from "./chat-world.ts";

/** One of each type, all answered by the script. */
export const mediaModels = `
[models.painter]
use = "up/m"
type = "image-gen"
[models.retoucher]
use = "up/m"
type = "image-edit"
[models.listener]
use = "up/m"
type = "audio-stt"
[models.speaker]
use = "up/m"
type = "audio-tts"
`;

/** A picture in base64. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** An attachment that is in the store. */
export async function stored(
  { store }: World,
  kind: Attachment["kind"],
  filename: string,
  media_type: string,
): Promise<Attachment> {
  const bytes = kind === "image" ? Buffer.from(pixel, "base64") : Buffer.from(`of ${filename}`);
  const url = blobPath + (await store.put(bytes, media_type));
  return { kind, url, filename, media_type };
}
