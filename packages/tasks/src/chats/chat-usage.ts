import type { Usage } from "../items.ts";
import { addUsage, noUsage } from "../usage.ts";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "./shapes.ts";

/** Of all versions of all messages, with their sub-agents, also of what was deleted; and of what belongs to no message. */
export function chatUsage({ extra_usage = noUsage, nodes }: Chat): Usage {
  return addUsage(extra_usage, usageOf(versionsOf(Object.values(nodes))) ?? noUsage);
}

/** Undefined where none of them used anything. */
export function usageOf(versions: readonly (UserVersion | AnswerVersion)[]): Usage | undefined {
  const used = versions.flatMap((version) =>
    "output" in version ? (version.tree_usage ?? version.usage ?? []) : [],
  );
  return used.length === 0 ? undefined : used.reduce(addUsage, noUsage);
}

export function versionsOf(nodes: readonly ChatNode[]): (UserVersion | AnswerVersion)[] {
  return nodes.flatMap<UserVersion | AnswerVersion>((node) =>
    node.kind === "separator" ? [] : node.versions,
  );
}
