import { TaskError } from "../error.ts";
import type { AnswerNode, AnswerVersion, Chat, ChatNode, UserNode } from "./chat-types.ts";

/** Returns the chosen path from the root. */
export function currentPath(chat: Chat): ChatNode[] {
  return pathBelow(chat, null);
}

/** Returns the chosen path below a node. `null`: from the root. */
export function pathBelow(chat: Chat, parent: string | null): ChatNode[] {
  const path: ChatNode[] = [];
  let node = nextNodeOnPath(chat, parent);
  for (; node !== undefined; node = nextNodeOnPath(chat, node.node_id)) path.push(node);
  return path;
}

/** Returns the ids of the versions and separators that are shown below a node. `null`: from the root. */
export function listShownBelow(chat: Chat, parent: string | null): string[] {
  return pathBelow(chat, parent).map((node) =>
    node.kind === "separator" ? node.node_id : node.version,
  );
}

export function lastNodeOnPath(chat: Chat): ChatNode | undefined {
  return currentPath(chat).at(-1);
}

/** Returns the path from the root to a node, including the node. Empty if the node does not exist. */
export function pathTo(chat: Chat, nodeId: string): ChatNode[] {
  const path: ChatNode[] = [];
  let node = findNode(chat, nodeId);
  while (node !== undefined) {
    path.push(node);
    node = node.parent === null ? undefined : findNode(chat, node.parent);
  }
  return path.toReversed();
}

/** Returns a node and its descendants, parents before children. */
export function collectSubtree(chat: Chat, nodeId: string): ChatNode[] {
  const subtree: ChatNode[] = [];
  const stack = [nodeId];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const node = findNode(chat, id);
    if (node === undefined) continue;
    subtree.push(node);
    for (const child of node.children.toReversed()) stack.push(child);
  }
  return subtree;
}

/** Checks own properties only: an id may be any text, including `__proto__`. */
export function findNode(chat: Chat, id: string): ChatNode | undefined {
  return Object.hasOwn(chat.nodes, id) ? chat.nodes[id] : undefined;
}

/** Returns the ids of the children of a node. `null`: the roots. */
export function getChildIds(chat: Chat, parent: string | null): readonly string[] {
  return parent === null ? chat.roots : (findNode(chat, parent)?.children ?? []);
}

export function getChosenChild(chat: Chat, parent: string | null): string | undefined {
  const key = parent ?? "";
  return Object.hasOwn(chat.chosen, key) ? chat.chosen[key] : undefined;
}

export function nextNodeOnPath(chat: Chat, parent: string | null): ChatNode | undefined {
  const id = getChosenChild(chat, parent);
  return id === undefined ? undefined : findNode(chat, id);
}

export function getChosenVersion<Node extends UserNode | AnswerNode>(
  node: Node,
): Node["versions"][number] {
  const versions: readonly Node["versions"][number][] = node.versions;
  const version = versions.find(({ version_id }) => version_id === node.version);
  if (version === undefined)
    throw new TaskError("unreadable", `${node.node_id} has no version ${node.version}`);
  return version;
}

/** Returns the version and the versions that it continues, oldest first. */
export function getAnswerChain(node: AnswerNode, versionId: string): AnswerVersion[] {
  const versions = new Map(node.versions.map((version) => [version.version_id, version]));
  const chain = new Set<AnswerVersion>();
  let version = versions.get(versionId);
  while (version !== undefined && !chain.has(version)) {
    chain.add(version);
    version = version.continues === undefined ? undefined : versions.get(version.continues);
  }
  return [...chain].toReversed();
}
