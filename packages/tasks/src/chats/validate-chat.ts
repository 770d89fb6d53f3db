import { getChildIds, getChosenChild, findNode } from "./chat-path.ts";
import type { AnswerNode, Chat, ChatNode, UserNode } from "./chat-types.ts";

/** Returns all structural faults of a chat. Empty for every chat that was created by edits. */
export function findChatFaults(chat: Chat): string[] {
  const faults: string[] = [];
  const versions = new Set<string>();
  for (const [id, node] of Object.entries(chat.nodes)) {
    faults.push(
      ...findPlacementFaults(chat, id, node),
      ...findChildFaults(chat, id, node.children),
    );
    if (node.kind !== "separator") faults.push(...findVersionFaults(node, versions));
  }
  faults.push(...findChildFaults(chat, null, chat.roots));
  return [
    ...faults,
    ...findUnreachableNodes(chat),
    ...findChoiceFaults(chat),
    ...findBookmarkFaults(chat),
  ];
}

function* findPlacementFaults(chat: Chat, id: string, node: ChatNode): Generator<string> {
  if (id === "") yield "a node has an empty id";
  if (node.node_id !== id) yield `node ${id} has the node_id ${node.node_id}`;
  const { kind } = node;
  const parent = node.parent === null ? null : findNode(chat, node.parent);
  if (parent === undefined) {
    yield `the parent ${node.parent} of ${id} does not exist`;
    return;
  }
  if (kind === "answer" && parent?.kind !== "user")
    yield `the parent of answer ${id} is not a user message`;
  if (kind === "separator" && parent === null) yield `the separator ${id} has no parent`;
}

function* findChildFaults(
  chat: Chat,
  parent: string | null,
  children: readonly string[],
): Generator<string> {
  const describeChild = (id: string) =>
    parent === null ? `root ${id}` : `child ${id} of ${parent}`;
  const seen = new Set<string>();
  for (const id of children) {
    const child = findNode(chat, id);
    if (seen.has(id)) yield `${describeChild(id)} is a duplicate`;
    else if (child === undefined) yield `${describeChild(id)} does not exist`;
    else if (child.parent !== parent) yield `${describeChild(id)} has the parent ${child.parent}`;
    seen.add(id);
  }
}

/** Also finds duplicate ids: version ids are unique in a chat. */
function* findVersionFaults(node: UserNode | AnswerNode, usedIds: Set<string>): Generator<string> {
  const { node_id } = node;
  const ids = node.versions.map(({ version_id }) => version_id);
  if (ids.length === 0) yield `${node_id} has no versions`;
  if (!ids.includes(node.version))
    yield `the chosen version ${node.version} of ${node_id} does not exist`;
  for (const id of ids) {
    if (id === "") yield `a version of ${node_id} has an empty id`;
    if (usedIds.has(id)) yield `version ${id} of ${node_id} is a duplicate`;
    usedIds.add(id);
  }
  if (node.kind === "answer") yield* findContinuationFaults(node);
}

function* findContinuationFaults({ node_id, versions }: AnswerNode): Generator<string> {
  if (versions.filter(({ status }) => status === "running").length > 1)
    yield `several versions of ${node_id} are running`;
  const continuedIds = new Map(
    versions.map(({ version_id, continues }) => [version_id, continues]),
  );
  const cycles = findCycles(continuedIds);
  for (const { version_id, continues } of versions) {
    if (continues === undefined) continue;
    if (!continuedIds.has(continues))
      yield `version ${version_id} of ${node_id} continues ${continues}, which does not exist`;
    else if (cycles.has(version_id)) yield `version ${version_id} of ${node_id} continues itself`;
  }
}

/** Returns the ids that are part of a cycle; `next` maps each id to the id that it continues. Takes linear time. */
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
    // The path has reached one of its ids again: a cycle.
    if (id === undefined || !path.has(id)) continue;
    for (let member: string | undefined = id; member !== undefined && !cycles.has(member);) {
      cycles.add(member);
      member = next.get(member);
    }
  }
  return cycles;
}

/** Finds nodes that no root leads to: nodes of a cycle, and nodes that are in no list of children. */
function* findUnreachableNodes(chat: Chat): Generator<string> {
  const seen = new Set<string>();
  const stack = [...chat.roots];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    for (const child of getChildIds(chat, id)) stack.push(child);
  }
  for (const id of Object.keys(chat.nodes))
    if (!seen.has(id)) yield `node ${id} cannot be reached from a root`;
}

function* findChoiceFaults(chat: Chat): Generator<string> {
  for (const parent of [null, ...Object.keys(chat.nodes)]) {
    const chosen = getChosenChild(chat, parent);
    const children = getChildIds(chat, parent);
    const location = parent === null ? "among the roots" : `below ${parent}`;
    if (children.length > 0 && chosen === undefined) yield `no node ${location} is chosen`;
    if (chosen !== undefined && !children.includes(chosen))
      yield `the chosen node ${chosen} is not ${location}`;
  }
  for (const parent of Object.keys(chat.chosen))
    if (parent !== "" && findNode(chat, parent) === undefined)
      yield `a node is chosen below ${parent}, which does not exist`;
}

function* findBookmarkFaults(chat: Chat): Generator<string> {
  const seen = new Set<string>();
  for (const id of chat.bookmarks) {
    if (seen.has(id)) yield `the bookmark of ${id} is a duplicate`;
    else if (findNode(chat, id) === undefined) yield `the bookmarked node ${id} does not exist`;
    seen.add(id);
  }
}
