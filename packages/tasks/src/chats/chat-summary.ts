import { markdownToText } from "../markdown/markdown-to-text.ts";
import { trimSplitSurrogates } from "../well-formed.ts";
import type { RemovalSummary } from "./api-types.ts";
import type { ChatSummary, StoredChat } from "./chat-store.ts";
import { sumChatUsage } from "./chat-usage.ts";
import type { Removal } from "./edit.ts";
import { getChosenVersion, currentPath, nextNodeOnPath } from "./chat-path.ts";
import { findRunningVersions } from "./running-answers.ts";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "./chat-types.ts";
import { collapseWhitespace, getVersionText } from "./version-text.ts";

const maxExcerptLength = 200;
/** Only the beginning of the text is converted, because it may be megabytes long. */
const maxReadLength = 10 * maxExcerptLength;

/** Builds the entry of a chat in lists. */
export function summarizeChat({ chat, stamp, deleted_at }: StoredChat): ChatSummary {
  const messages = Object.values(chat.nodes).filter(({ kind }) => kind !== "separator");
  const running = messages.flatMap(findRunningVersions);
  return {
    chat_id: chat.chat_id,
    title: chat.title,
    title_by: chat.title_by,
    created_at: chat.created_at,
    updated_at: chat.updated_at,
    revision: chat.revision,
    tags: chat.tags,
    pinned: chat.pinned,
    messages: messages.length,
    running: running.length,
    waiting: running.filter(({ waiting }) => waiting === true).length,
    opening_text: getOpeningText(chat, markdownToText),
    excerpt: getExcerpt(chat),
    usage: sumChatUsage(chat),
    stamp,
    ...(deleted_at === undefined ? {} : { deleted_at }),
  };
}

/**
 * Returns the beginning of the first user message with text, or else of the first answer. `toText` removes Markdown syntax from
 * answers. It is optional, so that a page can show a chat's name without loading the parser.
 */
export function getOpeningText(chat: Chat, toText = identity): string {
  return (
    excerptFirstText(iterateTexts(iteratePath(chat), toText, "user")) ||
    excerptFirstText(iterateTexts(iteratePath(chat), toText))
  );
}

function identity(markdown: string): string {
  return markdown;
}

/** Builds the entry of a deletion in lists. */
export function summarizeRemoval(removal: Removal): RemovalSummary {
  const { removal_id, removed_at, type } = removal;
  const texts =
    removal.type === "version"
      ? [toPlainText(removal.version, markdownToText)]
      : iterateTexts(removal.nodes, markdownToText);
  const count = removal.type === "version" ? 1 : removal.nodes.length;
  return { removal_id, removed_at, type, count, excerpt: excerptFirstText(texts) };
}

/** Returns the beginning of the last text on the path. While an answer has no text yet, this is the message that it answers. */
function getExcerpt(chat: Chat): string {
  return excerptFirstText(iterateTexts(currentPath(chat).toReversed(), markdownToText));
}

/** Lazy: callers stop near the beginning. */
function* iteratePath(chat: Chat): Generator<ChatNode> {
  let node = nextNodeOnPath(chat, null);
  for (; node !== undefined; node = nextNodeOnPath(chat, node.node_id)) yield node;
}

/** Lazy: the text of a chat may be megabytes long. */
function* iterateTexts(
  nodes: Iterable<ChatNode>,
  toText: typeof markdownToText,
  onlyKind?: "user",
): Generator<string> {
  for (const node of nodes)
    if (node.kind !== "separator" && (onlyKind === undefined || node.kind === onlyKind))
      yield toPlainText(getChosenVersion(node), toText);
}

/** Answers are Markdown; user messages are plain text. */
function toPlainText(version: UserVersion | AnswerVersion, toText: typeof markdownToText): string {
  const text = getVersionText(version).trimStart().slice(0, maxReadLength);
  return "output" in version ? toText(text) : text;
}

/** Returns the beginning of the first string that is not blank, on one line. Empty if all strings are blank. */
function excerptFirstText(texts: Iterable<string>): string {
  for (const text of texts) {
    const line = collapseWhitespace(text);
    if (line !== "") return trimSplitSurrogates(line.slice(0, maxExcerptLength)).trimEnd();
  }
  return "";
}
