import { createHash } from "node:crypto";
import type { ChatSettings } from "@deltawire/tasks/chats";

/** Which mask is on: the same for the same fields of one chat, as each has placeholders of its own. Undefined: none is. */
export function maskOf(chatId: string, privacy: ChatSettings["privacy"]): string | undefined {
  if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
  const mask = JSON.stringify([chatId, privacy.fields]);
  return createHash("sha256").update(mask).digest("hex").slice(0, 16);
}
