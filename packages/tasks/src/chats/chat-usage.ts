import { canonicalJson } from "../json.ts";
import type { Usage } from "../items.ts";
import { addUsage, noUsage, subtractUsage } from "../usage.ts";
import type { EditResult, Removal } from "./edit.ts";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "./chat-types.ts";

/** Sums the usage of all versions including sub-agents, of deleted messages, and of titles. */
export function sumChatUsage({ extra_usage = noUsage, nodes }: Chat): Usage {
  return addUsage(extra_usage, sumVersionUsage(listVersions(Object.values(nodes))) ?? noUsage);
}

/** Undefined if no version has usage. */
function sumVersionUsage(versions: readonly (UserVersion | AnswerVersion)[]): Usage | undefined {
  const versionUsages = versions.flatMap((version) =>
    "output" in version ? (version.tree_usage ?? version.usage ?? []) : [],
  );
  return versionUsages.length === 0 ? undefined : versionUsages.reduce(addUsage, noUsage);
}

function listVersions(nodes: readonly ChatNode[]): (UserVersion | AnswerVersion)[] {
  return nodes.flatMap<UserVersion | AnswerVersion>((node) =>
    node.kind === "separator" ? [] : node.versions,
  );
}

/* Deleting a message does not reduce the chat's usage: it moves to `extra_usage`, and back when the message is restored. */

export function retainRemovedUsage(result: EditResult): EditResult {
  if (!result.ok || result.removal === undefined) return result;
  const { chat, removal } = result;
  const removedUsage = sumRemovalUsage(removal);
  if (removedUsage === undefined) return result;
  const { extra_usage } = chat;
  return {
    ...result,
    chat: { ...chat, extra_usage: addUsage(extra_usage ?? noUsage, removedUsage) },
    removal: extra_usage === undefined ? removal : { ...removal, extra_usage },
  };
}

/** Undoes `retainRemovedUsage`. If `extra_usage` has not changed since, it is restored exactly, including absent fields. */
export function subtractRestoredUsage(result: EditResult, removal: Removal): EditResult {
  const removedUsage = sumRemovalUsage(removal);
  if (!result.ok || removedUsage === undefined) return result;
  const { extra_usage: current = noUsage, ...chat } = result.chat;
  const { extra_usage: before } = removal;
  const isUnchanged =
    canonicalJson(current) === canonicalJson(addUsage(before ?? noUsage, removedUsage));
  const extra_usage = isUnchanged ? before : subtractUsage(current, removedUsage);
  return { ...result, chat: extra_usage === undefined ? chat : { ...chat, extra_usage } };
}

function sumRemovalUsage(removal: Removal): Usage | undefined {
  return sumVersionUsage(
    removal.type === "version" ? [removal.version] : listVersions(removal.nodes),
  );
}
