import type { ChatNode } from "@deltawire/tasks/chats";

/** The node that has the focus; where none has it, the last one that the command fits. */
export function meantNode(
  path: readonly ChatNode[],
  focused: string | undefined,
  fits: (node: ChatNode) => boolean,
): ChatNode | undefined {
  return path.find(({ node_id }) => node_id === focused) ?? path.findLast(fits);
}

/** The next one in a direction; from nowhere the last, as that is what is in view. */
export function neighbour(
  path: readonly ChatNode[],
  focused: string | undefined,
  step: 1 | -1,
): ChatNode | undefined {
  const at = path.findIndex(({ node_id }) => node_id === focused);
  if (at === -1) return path.at(-1);
  return path[at + step];
}
