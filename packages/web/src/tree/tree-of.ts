import {
  chosenVersion,
  currentPath,
  isOutdated,
  nodeOf,
  wordsOf,
  type AnswerVersion,
  type Chat,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";
import { plainText } from "@deltawire/tasks/markdown";
import { saysOf, type AnswerSays } from "../chat/answer-facts.ts";

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

/*
 * A picture's text does not wrap by itself. Widths are in units of the size of the letters, guessed by their kind: exact
 * enough to fill a card, and the same everywhere.
 */

/** Of megabytes only the beginning is looked at. */
const mostRead = 2000;

/** The beginning of what a model wrote in Markdown, on one line. */
export function firstWordsIn(markdown: string): string {
  return firstWords(plainText(markdown.slice(0, mostRead)));
}

/** The beginning of a text on one line. */
export function firstWords(text: string, most = 200): string {
  return text
    .slice(0, mostRead)
    .trim()
    .replaceAll(/\s+/g, " ")
    .slice(0, most)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** A text in so many lines at the most, the last with a sign where more follows. */
export function cutLines(text: string, width: number, most: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest !== "" && lines.length < most) {
    const isLast = lines.length === most - 1;
    const whole = fitting(rest, width);
    if (whole === rest.length) return [...lines, rest];
    if (isLast) {
      lines.push(`${rest.slice(0, fitting(rest, width - widthOf("…"))).trimEnd()}…`);
      break;
    }
    const at = breakAt(rest, whole);
    lines.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return lines;
}

/** How many units of a text fit. */
function fitting(text: string, width: number): number {
  let used = 0;
  let at = 0;
  for (const character of text) {
    used += widthOf(character);
    if (used > width && at > 0) return at;
    at += character.length;
  }
  return at;
}

/** At a blank, or beside a character that is a word of its own; within a word only where there is no other place. */
function breakAt(text: string, end: number): number {
  // What closes a sentence does not begin a line: there is room for it in the margin.
  if (/[。，、；：？！）」』》.,;:!?)]/.test(text[end] ?? "")) return end + 1;
  if (isWide(text.codePointAt(end) ?? 0) || text[end] === " ") return end;
  for (let at = end; at > end / 3; at -= 1)
    if (text[at - 1] === " " || isWide(text.charCodeAt(at - 1))) return at;
  return end;
}

function widthOf(character: string): number {
  if (isWide(character.codePointAt(0) ?? 0)) return 1.02;
  if (/[ilIjtfr.,:;'|!()[\] ]/.test(character)) return 0.36;
  if (/[mwMW@%]/.test(character)) return 0.9;
  if (/[A-Z]/.test(character)) return 0.7;
  return 0.58;
}

function isWide(code: number): boolean {
  return (
    (code >= 0x11_00 && code <= 0x11_5f) ||
    (code >= 0x2e_80 && code <= 0xa4_cf) ||
    (code >= 0xac_00 && code <= 0xd7_a3) ||
    (code >= 0xf9_00 && code <= 0xfa_ff) ||
    (code >= 0xfe_30 && code <= 0xff_60) ||
    code >= 0x1_f3_00
  );
}

/** Whether a text begins in a script that is written from right to left. */
export function isRightToLeft(text: string): boolean {
  const strong = /[\p{L}]/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(strong);
}
