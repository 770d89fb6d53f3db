import { TaskError } from "../error.ts";
import type { AnswerNode, AnswerVersion, Chat, ChatNode, UserNode } from "./shapes.ts";

/** From the root on, as it is chosen. */
export function currentPath(chat: Chat): ChatNode[] {
  return pathUnder(chat, null);
}

/** From below a node on, as it is chosen. `null`: from the root on. */
export function pathUnder(chat: Chat, parent: string | null): ChatNode[] {
  const path: ChatNode[] = [];
  let node = nextOnPath(chat, parent);
  for (; node !== undefined; node = nextOnPath(chat, node.node_id)) path.push(node);
  return path;
}

/** What is shown under a node: versions, and separators. `null`: all that is. */
export function shownUnder(chat: Chat, parent: string | null): string[] {
  return pathUnder(chat, parent).map((node) =>
    node.kind === "separator" ? node.node_id : node.version,
  );
}

export function lastOnPath(chat: Chat): ChatNode | undefined {
  return currentPath(chat).at(-1);
}

/** From the root to a node, itself included; empty where there is no such node. */
export function pathTo(chat: Chat, nodeId: string): ChatNode[] {
  const path: ChatNode[] = [];
  let node = nodeOf(chat, nodeId);
  while (node !== undefined) {
    path.push(node);
    node = node.parent === null ? undefined : nodeOf(chat, node.parent);
  }
  return path.toReversed();
}

/** A node and all under it, each before its children. */
export function subtreeOf(chat: Chat, nodeId: string): ChatNode[] {
  const subtree: ChatNode[] = [];
  const ahead = [nodeId];
  for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
    const node = nodeOf(chat, id);
    if (node === undefined) continue;
    subtree.push(node);
    for (const child of node.children.toReversed()) ahead.push(child);
  }
  return subtree;
}

/** An id may be any text, `__proto__` too: only what a chat has of its own is a node. */
export function nodeOf(chat: Chat, id: string): ChatNode | undefined {
  return Object.hasOwn(chat.nodes, id) ? chat.nodes[id] : undefined;
}

/** `null`: the roots. */
export function childrenOf(chat: Chat, parent: string | null): readonly string[] {
  return parent === null ? chat.roots : (nodeOf(chat, parent)?.children ?? []);
}

export function chosenChild(chat: Chat, parent: string | null): string | undefined {
  const key = parent ?? "";
  return Object.hasOwn(chat.chosen, key) ? chat.chosen[key] : undefined;
}

export function nextOnPath(chat: Chat, parent: string | null): ChatNode | undefined {
  const id = chosenChild(chat, parent);
  return id === undefined ? undefined : nodeOf(chat, id);
}

export function chosenVersion<Node extends UserNode | AnswerNode>(
  node: Node,
): Node["versions"][number] {
  const versions: readonly Node["versions"][number][] = node.versions;
  const version = versions.find(({ version_id }) => version_id === node.version);
  if (version === undefined)
    throw new TaskError("unreadable", `${node.node_id} has no version ${node.version}`);
  return version;
}

/** The versions that one goes on from, the oldest first, and itself. */
export function answerChain(node: AnswerNode, versionId: string): AnswerVersion[] {
  const versions = new Map(node.versions.map((version) => [version.version_id, version]));
  const chain = new Set<AnswerVersion>();
  let version = versions.get(versionId);
  while (version !== undefined && !chain.has(version)) {
    chain.add(version);
    version = version.continues === undefined ? undefined : versions.get(version.continues);
  }
  return [...chain].toReversed();
}
