import { type ChatNode, wordsOf } from "@deltawire/tasks/chats";
import type { ChatHeader } from "../sql/chat-nodes.ts";

/** What was said in a node, by the ids of its versions. */
export function wordsByVersion(node: ChatNode | undefined): Map<string, string> {
  if (node === undefined || node.kind === "separator") return new Map();
  return new Map(node.versions.map((version) => [version.version_id, wordsOf(version)]));
}

/** Words that are no longer said in a node, and those that were not. A version that is the same object says the same. */
export function textsOf(
  before: ChatNode | undefined,
  after: ChatNode,
): { gone: Map<string, string>; added: Map<string, string> } {
  if (before !== undefined && hasSameVersions(before, after))
    return { gone: new Map(), added: new Map() };
  const said = wordsByVersion(before);
  const says = wordsByVersion(after);
  const differs = ([versionId, words]: [string, string], other: Map<string, string>) =>
    other.get(versionId) !== words;
  return {
    gone: new Map([...said].filter((text) => differs(text, says))),
    added: new Map([...says].filter((text) => differs(text, said))),
  };
}

function hasSameVersions(before: ChatNode, after: ChatNode): boolean {
  if (before.kind === "separator" || after.kind === "separator") return before.kind === after.kind;
  return before.versions === after.versions;
}

/** All words of a row that are indexed, by version; those of a chat itself are its title. */
export function indexableWords(json: string): Map<string, string> {
  const row = JSON.parse(json) as ChatHeader | ChatNode;
  return "kind" in row ? wordsByVersion(row) : new Map([["", row.title]]);
}

/** The words that a row of the index was made of, from the row that it belongs to. */
export function indexedWords(json: string, versionId: string): string | undefined {
  return wordsAndForm(json, versionId).words;
}

/** The same, and whether they are Markdown: a model writes it, people write what they mean. */
export function wordsAndForm(
  json: string,
  versionId: string,
): { words: string | undefined; isMarkdown: boolean } {
  if (versionId === "") return { words: (JSON.parse(json) as ChatHeader).title, isMarkdown: false };
  const node = JSON.parse(json) as ChatNode;
  return { words: wordsByVersion(node).get(versionId), isMarkdown: node.kind === "answer" };
}
