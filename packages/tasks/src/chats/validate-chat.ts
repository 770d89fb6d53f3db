import { childrenOf, chosenChild, nodeOf } from "./path.ts";
import type { AnswerNode, Chat, ChatNode, UserNode } from "./shapes.ts";

/** Every rule of the tree that a chat breaks. None for a chat that edits alone have made. */
export function chatFaults(chat: Chat): string[] {
  const faults: string[] = [];
  const versions = new Set<string>();
  for (const [id, node] of Object.entries(chat.nodes)) {
    faults.push(...placeFaults(chat, id, node), ...childFaults(chat, id, node.children));
    if (node.kind !== "separator") faults.push(...versionFaults(node, versions));
  }
  faults.push(...childFaults(chat, null, chat.roots));
  return [...faults, ...reachFaults(chat), ...choiceFaults(chat), ...bookmarkFaults(chat)];
}

function* placeFaults(chat: Chat, id: string, node: ChatNode): Generator<string> {
  if (id === "") yield "a node has an empty id";
  if (node.node_id !== id) yield `node ${id} calls itself ${node.node_id}`;
  const { kind } = node;
  const parent = node.parent === null ? null : nodeOf(chat, node.parent);
  if (parent === undefined) {
    yield `the parent ${node.parent} of ${id} is missing`;
    return;
  }
  if (kind === "answer" && parent?.kind !== "user")
    yield `the answer ${id} stands under no user's message`;
  if (kind === "separator" && parent === null) yield `the separator ${id} has nothing before it`;
}

function* childFaults(
  chat: Chat,
  parent: string | null,
  children: readonly string[],
): Generator<string> {
  const whose = parent === null ? "root" : `child of ${parent}`;
  const seen = new Set<string>();
  for (const id of children) {
    const child = nodeOf(chat, id);
    if (seen.has(id)) yield `${whose} ${id} is there twice`;
    else if (child === undefined) yield `${whose} ${id} is missing`;
    else if (child.parent !== parent) yield `${whose} ${id} has another parent, ${child.parent}`;
    seen.add(id);
  }
}

/** Versions are known by their ids in the whole chat. */
function* versionFaults(node: UserNode | AnswerNode, taken: Set<string>): Generator<string> {
  const { node_id } = node;
  const ids = node.versions.map(({ version_id }) => version_id);
  if (ids.length === 0) yield `${node_id} has no version`;
  if (!ids.includes(node.version))
    yield `the chosen version ${node.version} of ${node_id} is missing`;
  for (const id of ids) {
    if (id === "") yield `a version of ${node_id} has an empty id`;
    if (taken.has(id)) yield `version ${id} of ${node_id} is there twice`;
    taken.add(id);
  }
  if (node.kind === "answer") yield* continuationFaults(node);
}

function* continuationFaults({ node_id, versions }: AnswerNode): Generator<string> {
  if (versions.filter(({ status }) => status === "running").length > 1)
    yield `two versions of ${node_id} run at once`;
  const from = new Map(versions.map(({ version_id, continues }) => [version_id, continues]));
  const cycles = findCycles(from);
  for (const { version_id, continues } of versions) {
    if (continues === undefined) continue;
    if (!from.has(continues))
      yield `version ${version_id} of ${node_id} goes on from ${continues}, which is missing`;
    else if (cycles.has(version_id))
      yield `version ${version_id} of ${node_id} goes on from itself`;
  }
}

/** Returns the ids that are part of a cycle; `next` maps each id to the one that it continues. Linear. */
function findCycles(next: ReadonlyMap<string, string | undefined>): Set<string> {
  const cycles = new Set<string>();
  const visited = new Set<string>();
  for (const start of next.keys()) {
    const path = new Set<string>();
    let id: string | undefined = start;
    while (id !== undefined && !visited.has(id)) {
      visited.add(id);
      path.add(id);
      id = next.get(id);
    }
    // The path has met itself: the cycle begins here.
    if (id === undefined || !path.has(id)) continue;
    for (let each: string | undefined = id; each !== undefined && !cycles.has(each);) {
      cycles.add(each);
      each = next.get(each);
    }
  }
  return cycles;
}

/** A circle has parents and children that agree, and no root; a node that no list names has none either. */
function* reachFaults(chat: Chat): Generator<string> {
  const seen = new Set<string>();
  const ahead = [...chat.roots];
  for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    for (const child of childrenOf(chat, id)) ahead.push(child);
  }
  for (const id of Object.keys(chat.nodes)) if (!seen.has(id)) yield `no root leads to ${id}`;
}

function* choiceFaults(chat: Chat): Generator<string> {
  for (const parent of [null, ...Object.keys(chat.nodes)]) {
    const chosen = chosenChild(chat, parent);
    const children = childrenOf(chat, parent);
    const whose = parent === null ? "of the roots" : `under ${parent}`;
    if (children.length > 0 && chosen === undefined) yield `none ${whose} is chosen`;
    if (chosen !== undefined && !children.includes(chosen))
      yield `${chosen}, chosen ${whose}, does not stand there`;
  }
  for (const parent of Object.keys(chat.chosen))
    if (parent !== "" && nodeOf(chat, parent) === undefined)
      yield `something is chosen under ${parent}, which is missing`;
}

function* bookmarkFaults(chat: Chat): Generator<string> {
  const seen = new Set<string>();
  for (const id of chat.bookmarks) {
    if (seen.has(id)) yield `the bookmark of ${id} is there twice`;
    else if (nodeOf(chat, id) === undefined) yield `${id} has a bookmark, but is missing`;
    seen.add(id);
  }
}
