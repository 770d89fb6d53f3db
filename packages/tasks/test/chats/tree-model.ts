import type { Chat, ChatEdit, EditRejectionCode } from "@deltawire/tasks/chats";

/*
 * A simple model of a chat to compare the implementation with: nested lists that are changed in place.
 */

export interface ModelNode {
  id: string;
  kind: "user" | "answer" | "separator";
  pinned: boolean;
  hidden: boolean;
  versions: { id: string; status: string; continues: string | undefined }[];
  shown: string | undefined;
  children: ModelNode[];
  /** Id of the child on the path. */
  chosen: string | undefined;
}

/** The parent of a list of nodes: a node, or the tree. */
export type ModelParent = Pick<ModelNode, "children" | "chosen">;

export interface ModelTree extends ModelParent {
  bookmarks: string[];
  title: string;
  titleBy: string;
  tags: string[];
  pinned: boolean;
  settings: Record<string, unknown>;
}

export function buildModel(chat: Chat): ModelTree {
  const toNode = (id: string): ModelNode => {
    const node = Object.getOwnPropertyDescriptor(chat.nodes, id)?.value as Chat["nodes"][string];
    const versions = node.kind === "separator" ? [] : node.versions;
    return {
      id,
      kind: node.kind,
      pinned: node.pinned,
      hidden: node.hidden,
      versions: versions.map((version) => ({
        id: version.version_id,
        status: "status" in version ? version.status : "",
        continues: "continues" in version ? version.continues : undefined,
      })),
      shown: node.kind === "separator" ? undefined : node.version,
      children: node.children.map(toNode),
      chosen: getOwnProperty(chat.chosen, id),
    };
  };
  return {
    children: chat.roots.map(toNode),
    chosen: getOwnProperty(chat.chosen, ""),
    bookmarks: [...chat.bookmarks],
    title: chat.title,
    titleBy: chat.title_by,
    tags: [...chat.tags],
    pinned: chat.pinned,
    settings: { ...chat.settings },
  };
}

function getOwnProperty(record: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.getOwnPropertyDescriptor(record, key)?.value as string | undefined;
}

export function listNodes(parentNode: ModelParent): ModelNode[] {
  return parentNode.children.flatMap((node) => [node, ...listNodes(node)]);
}

/** Returns a node that must exist. */
export function getNode(tree: ModelTree, id: string): ModelNode {
  return listNodes(tree).find((one) => one.id === id) as ModelNode;
}

export function findParent(tree: ModelTree, node: ModelNode): ModelParent {
  return [tree, ...listNodes(tree)].find(({ children }) => children.includes(node)) as ModelParent;
}

/** Returns the code with which an edit must be rejected; undefined if it must be accepted. */
export function expectedRejection(tree: ModelTree, edit: ChatEdit): EditRejectionCode | undefined {
  const id = "node_id" in edit ? edit.node_id : "parent" in edit ? edit.parent : undefined;
  const target = id ?? ("after" in edit ? edit.after : undefined);
  const node = listNodes(tree).find((one) => one.id === target);
  if (target !== undefined && node === undefined) return "node_not_found";
  const version =
    "version_id" in edit ? node?.versions.find((one) => one.id === edit.version_id) : undefined;
  const next = node?.children.find((one) => one.id === node.chosen);
  switch (edit.type) {
    case "rename":
      return edit.title === "" ? "invalid_value" : undefined;
    case "tag":
      return new Set(edit.tags).size < edit.tags.length ? "invalid_value" : undefined;
    case "settings":
      return (edit.patch.turns ?? 0) < 0 ? "invalid_value" : undefined;
    case "title_by_model":
      return tree.titleBy === "nobody" ? undefined : "invalid_position";
    case "add_message":
      return node && isRunning(node) ? "still_running" : undefined;
    case "add_answer":
      return node?.kind === "user" ? undefined : "invalid_position";
    case "insert_answer":
      return node?.kind === "user" && next?.kind !== "answer" ? undefined : "invalid_position";
    case "add_separator":
      if (node && isRunning(node)) return "still_running";
      return next?.kind === "answer" ? "invalid_position" : undefined;
    case "add_message_version":
      return node?.kind === "user" ? undefined : "invalid_position";
    case "add_answer_version": {
      if (node?.kind !== "answer") return "invalid_position";
      if (isRunning(node)) return "still_running";
      const { continues } = edit.answer;
      const known = node.versions.some((one) => one.id === continues);
      return continues === undefined || known ? undefined : "version_not_found";
    }
    case "pin":
    case "hide":
      return node?.kind === "separator" ? "invalid_position" : undefined;
    case "choose_version":
      if (node?.kind === "separator") return "invalid_position";
      return version ? undefined : "version_not_found";
    case "delete_version":
      if (node?.kind === "separator") return "invalid_position";
      if (version === undefined) return "version_not_found";
      if (version.status === "running") return "still_running";
      if (node?.versions.length === 1) return "only_version";
      return node?.versions.some((one) => one.continues === version.id)
        ? "version_in_use"
        : undefined;
    case "finish_answer":
    case "answer_waits":
      if (node?.kind !== "answer") return "invalid_position";
      if (version === undefined) return "version_not_found";
      return version.status === "running" ? undefined : "invalid_position";
    case "delete_node": {
      if (node === undefined) return "node_not_found";
      if (edit.children === "delete")
        return [node, ...listNodes(node)].some(isRunning) ? "still_running" : undefined;
      if (isRunning(node)) return "still_running";
      if (node.children.some(({ kind }) => kind === "answer")) return "invalid_position";
      const first = tree.children.includes(node);
      return first && node.children.some(({ kind }) => kind === "separator")
        ? "invalid_position"
        : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns the code with which an extraction must be rejected; undefined if it must be accepted. */
export function expectedExtractRejection(
  tree: ModelTree,
  id: string,
): EditRejectionCode | undefined {
  const node = listNodes(tree).find((one) => one.id === id);
  if (node === undefined) return "node_not_found";
  if (node.kind !== "user") return "invalid_position";
  return [node, ...listNodes(node)].some(isRunning) ? "still_running" : undefined;
}

/** Returns the subtree as a separate tree. */
export function extractModel(tree: ModelTree, id: string): ModelTree {
  const node = listNodes(tree).filter((one) => one.id === id);
  const ids = new Set([...node, ...node.flatMap(listNodes)].map((one) => one.id));
  const bookmarks = tree.bookmarks.filter((one) => ids.has(one));
  return { ...tree, children: node, chosen: id, bookmarks, pinned: false };
}

function isRunning(node: ModelNode): boolean {
  return node.versions.some(({ status }) => status === "running");
}

/** Applies a valid edit. `nodeId` and `versionId`: ids of the added node and version. */
export function applyToModel(tree: ModelTree, edit: ChatEdit, nodeId = "", versionId = ""): void {
  const choose = (node: ModelNode): void => {
    const parentNode = findParent(tree, node);
    parentNode.chosen = node.id;
    if (parentNode !== tree) choose(parentNode as ModelNode);
  };
  const createNode = (kind: ModelNode["kind"], status = ""): ModelNode => ({
    id: nodeId,
    kind,
    pinned: false,
    hidden: false,
    versions: kind === "separator" ? [] : [{ id: versionId, status, continues: undefined }],
    shown: kind === "separator" ? undefined : versionId,
    children: [],
    chosen: undefined,
  });
  const insert = (parent: ModelNode, node: ModelNode): void => {
    const index = parent.children.findIndex((one) => one.id === parent.chosen);
    const movedChildren = index === -1 ? [] : parent.children.splice(index, 1);
    node.children = movedChildren;
    node.chosen = movedChildren[0]?.id;
    parent.children.splice(index === -1 ? parent.children.length : index, 0, node);
    parent.chosen = node.id;
  };
  switch (edit.type) {
    case "rename":
    case "title_by_model":
      tree.title = edit.title;
      tree.titleBy = edit.type === "rename" ? "user" : "model";
      return;
    case "tag":
      tree.tags = [...edit.tags];
      return;
    case "pin_chat":
      tree.pinned = edit.value;
      return;
    case "settings":
      for (const [name, value] of Object.entries(edit.patch))
        if (value === null) delete tree.settings[name];
        else tree.settings[name] = value;
      return;
    case "add_message":
    case "add_answer": {
      const parentNode = edit.parent === null ? tree : getNode(tree, edit.parent);
      const node =
        edit.type === "add_message" ? createNode("user") : createNode("answer", edit.answer.status);
      parentNode.children.push(node);
      return choose(node);
    }
    case "insert_answer":
      return insert(getNode(tree, edit.after), createNode("answer", edit.answer.status));
    case "add_separator":
      return insert(getNode(tree, edit.after), createNode("separator"));
    case "add_message_version":
    case "add_answer_version": {
      const node = getNode(tree, edit.node_id);
      const { status, continues } =
        edit.type === "add_answer_version" ? edit.answer : { status: "", continues: undefined };
      node.versions.push({ id: versionId, status, continues });
      node.shown = versionId;
      return;
    }
    case "choose_branch":
      return choose(getNode(tree, edit.node_id));
    case "choose_version":
      getNode(tree, edit.node_id).shown = edit.version_id;
      return;
    case "pin":
      getNode(tree, edit.node_id).pinned = edit.value;
      return;
    case "hide":
      getNode(tree, edit.node_id).hidden = edit.value;
      return;
    case "bookmark":
      if (tree.bookmarks.includes(edit.node_id) === edit.value) return;
      if (edit.value) tree.bookmarks.push(edit.node_id);
      else tree.bookmarks.splice(tree.bookmarks.indexOf(edit.node_id), 1);
      return;
    case "finish_answer": {
      const version = getNode(tree, edit.node_id).versions.find(({ id }) => id === edit.version_id);
      if (version) version.status = edit.end.status;
      return;
    }
    case "delete_version": {
      const node = getNode(tree, edit.node_id);
      const position = node.versions.findIndex(({ id }) => id === edit.version_id);
      node.versions.splice(position, 1);
      if (node.shown === edit.version_id) node.shown = node.versions[Math.max(0, position - 1)]?.id;
      return;
    }
    case "delete_node": {
      const node = getNode(tree, edit.node_id);
      const parentNode = findParent(tree, node);
      const at = parentNode.children.indexOf(node);
      const movedUp = edit.children === "keep" ? node.children : [];
      const removed = new Set([node, ...(edit.children === "keep" ? [] : listNodes(node))]);
      tree.bookmarks = tree.bookmarks.filter((id) => ![...removed].some((one) => one.id === id));
      parentNode.children.splice(at, 1, ...movedUp);
      if (parentNode.chosen === node.id)
        parentNode.chosen =
          movedUp.length > 0 ? node.chosen : parentNode.children[Math.max(0, at - 1)]?.id;
      return;
    }
    default:
  }
}
