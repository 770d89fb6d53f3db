import { createHash } from "node:crypto";
import type { ChatSettings } from "@deltawire/tasks/chats";

/** Which mask is on: the same for the same fields. Undefined: nothing is masked. */
export function maskOf(privacy: ChatSettings["privacy"]): string | undefined {
  if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
  return createHash("sha256").update(JSON.stringify(privacy.fields)).digest("hex").slice(0, 16);
}
