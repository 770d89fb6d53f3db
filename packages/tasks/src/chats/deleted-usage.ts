import { canonicalJson } from "../canonical-json.ts";
import type { Usage } from "../items.ts";
import { addUsage, noUsage, subtractUsage } from "../usage.ts";
import { usageOf, versionsOf } from "./chat-usage.ts";
import type { Edited, Removal } from "./edit.ts";

/* What was used was used: a delete leaves it with the chat, and a restore gives it back to what used it. */

export function withUsageKept(edited: Edited): Edited {
  if (!edited.ok || edited.removal === undefined) return edited;
  const { chat, removal } = edited;
  const used = usedBy(removal);
  if (used === undefined) return edited;
  const { extra_usage } = chat;
  return {
    ...edited,
    chat: { ...chat, extra_usage: addUsage(extra_usage ?? noUsage, used) },
    removal: extra_usage === undefined ? removal : { ...removal, extra_usage },
  };
}

/** Unless something was added meanwhile it is to the letter what it was, also in fields that are 0 or missing. */
export function withUsageBack(edited: Edited, removal: Removal): Edited {
  const used = usedBy(removal);
  if (!edited.ok || used === undefined) return edited;
  const { extra_usage: now = noUsage, ...chat } = edited.chat;
  const { extra_usage: before } = removal;
  const isAsLeft = canonicalJson(now) === canonicalJson(addUsage(before ?? noUsage, used));
  const extra_usage = isAsLeft ? before : subtractUsage(now, used);
  return { ...edited, chat: extra_usage === undefined ? chat : { ...chat, extra_usage } };
}

function usedBy(removal: Removal): Usage | undefined {
  return usageOf(removal.what === "version" ? [removal.version] : versionsOf(removal.nodes));
}
