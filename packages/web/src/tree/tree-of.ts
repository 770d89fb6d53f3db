import { chosenVersion, currentPath, isOutdated, nodeOf, wordsOf } from "@deltawire/tasks/chats";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "@deltawire/tasks/chats";
import { saysOf, type AnswerSays } from "../chat/answer-facts.ts";
import { firstWords, firstWordsIn } from "./lines.ts";

/** What the picture shows of a node. */
export interface TreeItem {
  readonly id: string;
  readonly kind: ChatNode["kind"];
  readonly parent: string | undefined;
  readonly children: readonly string[];
  /** From 1 on; and its place among those beside it. */
  readonly level: number;
  readonly place: number;
  readonly beside: number;
  readonly isOnPath: boolean;
  /** Of the version that is shown: its place, and how many there are. */
  readonly version: number;
  readonly versions: number;
  readonly words: string;
  /** Of an answer. */
  readonly says: AnswerSays | undefined;
  /** The agent or the model; undefined: written by hand, or by the user. */
  readonly by: string | undefined;
  /** Of an answer that runs: what it says so far is told there. */
  readonly taskId: string | undefined;
  readonly isPinned: boolean;
  readonly isHidden: boolean;
  readonly isBookmarked: boolean;
  /** Written for another version of what is above. */
  readonly isOutdated: boolean;
}

export type Tree = ReadonlyMap<string, TreeItem>;

/** All nodes of a chat, each before its children. What is the same for a node that has not changed is the same object. */
export function treeOf(chat: Chat): Tree {
  const tree = new Map<string, TreeItem>();
  const path = new Set(currentPath(chat).map(({ node_id }) => node_id));
  const bookmarks = new Set(chat.bookmarks);
  const ahead = levelOf(chat.roots, undefined, 1);
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const node = nodeOf(chat, next.id);
    if (node === undefined || tree.has(next.id)) continue;
    const { parent = "" } = next;
    const above = nodeOf(chat, parent);
    const item: TreeItem = {
      ...next,
      ...ofNode(node),
      kind: node.kind,
      children: node.children,
      isOnPath: path.has(next.id),
      isPinned: node.pinned,
      isHidden: node.hidden,
      isBookmarked: bookmarks.has(next.id),
      isOutdated: isOutdated(node, above, tree.get(parent)?.isOutdated === true),
    };
    const known = knownItems.get(node);
    const kept = known !== undefined && isSame(known, item) ? known : item;
    knownItems.set(node, kept);
    tree.set(next.id, kept);
    ahead.push(...levelOf(node.children, next.id, next.level + 1));
  }
  return tree;
}

const knownItems = new WeakMap<ChatNode, TreeItem>();

type InLevel = Pick<TreeItem, "id" | "parent" | "level" | "place" | "beside">;

/** The last first: they are taken from the end. */
function levelOf(ids: readonly string[], parent: string | undefined, level: number): InLevel[] {
  return ids
    .map((id, index) => ({ id, parent, level, place: index + 1, beside: ids.length }))
    .toReversed();
}

type OfVersion = Pick<TreeItem, "version" | "versions" | "words" | "says" | "by" | "taskId">;

function ofNode(node: ChatNode): OfVersion {
  if (node.kind === "separator") return ofSeparator;
  const version = chosenVersion(node);
  const all: readonly { readonly version_id: string }[] = node.versions;
  return {
    version: all.findIndex(({ version_id }) => version_id === node.version) + 1,
    versions: all.length,
    words: firstWordsOf(version),
    ...("output" in version
      ? ofAnswer(version)
      : { says: undefined, by: undefined, taskId: undefined }),
  };
}

const ofSeparator: OfVersion = {
  version: 0,
  versions: 0,
  words: "",
  says: undefined,
  by: undefined,
  taskId: undefined,
};

function ofAnswer(version: AnswerVersion): Pick<TreeItem, "says" | "by" | "taskId"> {
  return {
    says: saysOf(version),
    by: version.by === "user" ? undefined : (version.agent ?? version.model),
    taskId: version.status === "running" ? version.task_id : undefined,
  };
}

/** All words of a long answer are put together once, not with every change of the chat. */
function firstWordsOf(version: UserVersion | AnswerVersion): string {
  const first = "output" in version ? firstWordsIn : firstWords;
  const known = knownWords.get(version) ?? first(wordsOf(version));
  knownWords.set(version, known);
  return known;
}

const knownWords = new WeakMap<UserVersion | AnswerVersion, string>();

function isSame(one: TreeItem, other: TreeItem): boolean {
  return (Object.keys(other) as (keyof TreeItem)[]).every((name) => one[name] === other[name]);
}
