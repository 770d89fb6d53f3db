import { plainText } from "../markdown/plain-text.ts";
import { wholeCharacters } from "../well-formed.ts";
import type { RemovalSummary } from "./api.ts";
import type { ChatSummary, KeptChat } from "./chat-store.ts";
import { chatUsage } from "./chat-usage.ts";
import type { Removal } from "./edit.ts";
import { chosenVersion, currentPath, nextOnPath } from "./path.ts";
import { runningVersions } from "./running.ts";
import type { AnswerVersion, Chat, ChatNode, UserVersion } from "./shapes.ts";
import { onOneLine, wordsOf } from "./words.ts";

const mostOfExcerpt = 200;
/** Blanks are joined, and marks taken out, in the beginning only: the words may be megabytes. */
const mostRead = 10 * mostOfExcerpt;

/** What a list shows of a chat. */
export function summaryOf({ chat, stamp, deleted_at }: KeptChat): ChatSummary {
  const messages = Object.values(chat.nodes).filter(({ kind }) => kind !== "separator");
  const running = messages.flatMap(runningVersions);
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
    first_words: firstWords(chat, plainText),
    excerpt: excerptOf(chat),
    usage: chatUsage(chat),
    stamp,
    ...(deleted_at === undefined ? {} : { deleted_at }),
  };
}

/**
 * What a chat begins with: the words of a person, or where none has said a word, those of an answer. `toText` takes the marks
 * of Markdown out of these; without it they stay, and a page need not load the parser for the name of a chat.
 */
export function firstWords(chat: Chat, toText = unchanged): string {
  return (
    firstLine(wordsIn(downThePath(chat), toText, "user")) ||
    firstLine(wordsIn(downThePath(chat), toText))
  );
}

function unchanged(markdown: string): string {
  return markdown;
}

/** What a list of deletions shows of one. */
export function removalSummary(removal: Removal): RemovalSummary {
  const { removal_id, removed_at, what } = removal;
  const words =
    removal.what === "version"
      ? [plainly(removal.version, plainText)]
      : wordsIn(removal.nodes, plainText);
  const count = removal.what === "version" ? 1 : removal.nodes.length;
  return { removal_id, removed_at, what, count, excerpt: firstLine(words) };
}

/** An answer that has said nothing yet leaves the word to its message. */
function excerptOf(chat: Chat): string {
  return firstLine(wordsIn(currentPath(chat).toReversed(), plainText));
}

/** Node by node: what is asked for stands near its beginning. */
function* downThePath(chat: Chat): Generator<ChatNode> {
  let node = nextOnPath(chat, null);
  for (; node !== undefined; node = nextOnPath(chat, node.node_id)) yield node;
}

/** One by one: all words of a chat may be megabytes. */
function* wordsIn(
  nodes: Iterable<ChatNode>,
  toText: typeof plainText,
  only?: "user",
): Generator<string> {
  for (const node of nodes)
    if (node.kind !== "separator" && (only === undefined || node.kind === only))
      yield plainly(chosenVersion(node), toText);
}

/** A model writes Markdown, people write what they mean. */
function plainly(version: UserVersion | AnswerVersion, toText: typeof plainText): string {
  const words = wordsOf(version).trimStart().slice(0, mostRead);
  return "output" in version ? toText(words) : words;
}

/** The beginning of the first of some texts that says something, on one line. */
function firstLine(texts: Iterable<string>): string {
  for (const text of texts) {
    const line = onOneLine(text);
    if (line !== "") return wholeCharacters(line.slice(0, mostOfExcerpt)).trimEnd();
  }
  return "";
}
