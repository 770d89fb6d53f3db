import { canonicalJson } from "../json.ts";
import type { Usage } from "../items.ts";
import { addUsage, noUsage, subtractUsage } from "../usage.ts";
import type { Edited, Removal } from "./edit.ts";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "./shapes.ts";

/** Of all versions of all messages, with their sub-agents, also of what was deleted; and of what belongs to no message. */
export function chatUsage({ extra_usage = noUsage, nodes }: Chat): Usage {
  return addUsage(extra_usage, usageOf(versionsOf(Object.values(nodes))) ?? noUsage);
}

/** Undefined where none of them used anything. */
function usageOf(versions: readonly (UserVersion | AnswerVersion)[]): Usage | undefined {
  const used = versions.flatMap((version) =>
    "output" in version ? (version.tree_usage ?? version.usage ?? []) : [],
  );
  return used.length === 0 ? undefined : used.reduce(addUsage, noUsage);
}

function versionsOf(nodes: readonly ChatNode[]): (UserVersion | AnswerVersion)[] {
  return nodes.flatMap<UserVersion | AnswerVersion>((node) =>
    node.kind === "separator" ? [] : node.versions,
  );
}

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
