import {
  getChosenVersion,
  currentPath,
  isOutdated,
  findNode,
  getVersionText,
  type AnswerVersion,
  type Chat,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";
import { markdownToText } from "@deltawire/tasks/markdown";
import { toAnswerState, type AnswerState } from "../chat/answer-summary.ts";

/** A node of the chat as shown in the tree view. */
export interface ChatTreeItem {
  readonly id: string;
  readonly kind: ChatNode["kind"];
  readonly parent: string | undefined;
  readonly children: readonly string[];
  /** Depth, from 1. */
  readonly level: number;
  /** Position among its siblings, from 1. */
  readonly position: number;
  readonly siblingCount: number;
  readonly isOnPath: boolean;
  /** Number of the chosen version, from 1; 0 for a separator. */
  readonly version: number;
  readonly versionCount: number;
  readonly excerpt: string;
  /** Undefined unless the node is an answer. */
  readonly state: AnswerState | undefined;
  /** The agent or model. Undefined if the user wrote the text. */
  readonly author: string | undefined;
  /** Set while an answer runs. The text so far is in the task with this id. */
  readonly taskId: string | undefined;
  readonly isPinned: boolean;
  readonly isHidden: boolean;
  readonly isBookmarked: boolean;
  /** True if the node, or one between it and the separator above, responds to a version of its parent that is not the chosen one. */
  readonly isOutdated: boolean;
}

export type ChatTree = ReadonlyMap<string, ChatTreeItem>;

/** Lists all nodes of a chat, parents before children. Unchanged items are reused from the previous call. */
export function buildChatTree(chat: Chat): ChatTree {
  const tree = new Map<string, ChatTreeItem>();
  const path = new Set(currentPath(chat).map(({ node_id }) => node_id));
  const bookmarks = new Set(chat.bookmarks);
  const stack = createLevel(chat.roots, undefined, 1);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const node = findNode(chat, next.id);
    if (node === undefined || tree.has(next.id)) continue;
    const { parent = "" } = next;
    const parentNode = findNode(chat, parent);
    const item: ChatTreeItem = {
      ...next,
      ...describeNode(node),
      kind: node.kind,
      children: node.children,
      isOnPath: path.has(next.id),
      isPinned: node.pinned,
      isHidden: node.hidden,
      isBookmarked: bookmarks.has(next.id),
      isOutdated: isOutdated(node, parentNode, tree.get(parent)?.isOutdated === true),
    };
    const cached = cachedItems.get(node);
    const stable = cached !== undefined && isSameItem(cached, item) ? cached : item;
    cachedItems.set(node, stable);
    tree.set(next.id, stable);
    stack.push(...createLevel(node.children, next.id, next.level + 1));
  }
  return tree;
}

const cachedItems = new WeakMap<ChatNode, ChatTreeItem>();

type LevelItem = Pick<ChatTreeItem, "id" | "parent" | "level" | "position" | "siblingCount">;

/** Returns siblings in reverse order, because the caller pops from the end. */
function createLevel(
  ids: readonly string[],
  parent: string | undefined,
  level: number,
): LevelItem[] {
  return ids
    .map((id, index) => ({ id, parent, level, position: index + 1, siblingCount: ids.length }))
    .toReversed();
}

type VersionInfo = Pick<
  ChatTreeItem,
  "version" | "versionCount" | "excerpt" | "state" | "author" | "taskId"
>;

function describeNode(node: ChatNode): VersionInfo {
  if (node.kind === "separator") return separatorInfo;
  const version = getChosenVersion(node);
  const versions: readonly { readonly version_id: string }[] = node.versions;
  return {
    version: versions.findIndex(({ version_id }) => version_id === node.version) + 1,
    versionCount: versions.length,
    excerpt: getVersionExcerpt(version),
    ...("output" in version
      ? describeAnswer(version)
      : { state: undefined, author: undefined, taskId: undefined }),
  };
}

const separatorInfo: VersionInfo = {
  version: 0,
  versionCount: 0,
  excerpt: "",
  state: undefined,
  author: undefined,
  taskId: undefined,
};

function describeAnswer(version: AnswerVersion): Pick<ChatTreeItem, "state" | "author" | "taskId"> {
  return {
    state: toAnswerState(version),
    author: version.by === "user" ? undefined : (version.agent ?? version.model),
    taskId: version.status === "running" ? version.task_id : undefined,
  };
}

/** Cached by version, because joining the text of a long answer on every change of the chat is slow. */
function getVersionExcerpt(version: UserVersion | AnswerVersion): string {
  const toExcerpt = "output" in version ? excerptMarkdown : excerptText;
  const excerpt = cachedExcerpts.get(version) ?? toExcerpt(getVersionText(version));
  cachedExcerpts.set(version, excerpt);
  return excerpt;
}

const cachedExcerpts = new WeakMap<UserVersion | AnswerVersion, string>();

function isSameItem(a: ChatTreeItem, b: ChatTreeItem): boolean {
  return (Object.keys(b) as (keyof ChatTreeItem)[]).every((name) => a[name] === b[name]);
}

/*
 * SVG text does not wrap, so it is split into lines here. Widths are estimated in em by character class: exact enough to fill a
 * card, and the same on every platform.
 */

/** Excerpts only read this many characters, because the text may be megabytes long. */
const maxReadLength = 2000;

/** Returns the beginning of Markdown as plain text on one line. */
export function excerptMarkdown(markdown: string): string {
  return excerptText(markdownToText(markdown.slice(0, maxReadLength)));
}

/** Returns the beginning of the text on one line. */
export function excerptText(text: string, limit = 200): string {
  return text
    .slice(0, maxReadLength)
    .trim()
    .replaceAll(/\s+/g, " ")
    .slice(0, limit)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** Wraps text to at most `maxLines` lines of `width` em. The last line ends with "…" if text is omitted. */
export function wrapLines(text: string, width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest !== "" && lines.length < maxLines) {
    const isLast = lines.length === maxLines - 1;
    const fittingLength = getFittingLength(rest, width);
    if (fittingLength === rest.length) return [...lines, rest];
    if (isLast) {
      lines.push(
        `${rest.slice(0, getFittingLength(rest, width - estimateCharacterWidth("…"))).trimEnd()}…`,
      );
      break;
    }
    const end = findLineBreak(rest, fittingLength);
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return lines;
}

/** Returns how many UTF-16 code units fit, at least one character. */
function getFittingLength(text: string, width: number): number {
  let usedWidth = 0;
  let length = 0;
  for (const character of text) {
    usedWidth += estimateCharacterWidth(character);
    if (usedWidth > width && length > 0) return length;
    length += character.length;
  }
  return length;
}

/** Returns where to break a line: at a space or next to a CJK character; inside a word only if there is no other option. */
function findLineBreak(text: string, end: number): number {
  // Closing punctuation must not start a line. It fits into the margin.
  if (/[。，、；：？！）」』》.,;:!?)]/.test(text[end] ?? "")) return end + 1;
  if (isWide(text.codePointAt(end) ?? 0) || text[end] === " ") return end;
  for (let index = end; index > end / 3; index -= 1)
    if (text[index - 1] === " " || isWide(text.charCodeAt(index - 1))) return index;
  return end;
}

function estimateCharacterWidth(character: string): number {
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

/** True if the first letter of the text belongs to a right-to-left script. */
export function isRightToLeft(text: string): boolean {
  const strong = /[\p{L}]/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(strong);
}
