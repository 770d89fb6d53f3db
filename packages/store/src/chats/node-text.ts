import { type ChatNode, getVersionText, type Removal } from "@deltawire/tasks/chats";
import type { StoredChatHeader } from "./chat-header.ts";

/** Returns the text of each version of a node, by version id. */
export function getTextByVersion(node: ChatNode | undefined): Map<string, string> {
  if (node === undefined || node.kind === "separator") return new Map();
  return new Map(node.versions.map((version) => [version.version_id, getVersionText(version)]));
}

/**
 * Compares two states of a node and returns the removed and the added text, by version id. Identical version lists are not
 * compared.
 */
export function diffTexts(
  before: ChatNode | undefined,
  after: ChatNode,
): { removed: Map<string, string>; added: Map<string, string> } {
  if (before !== undefined && hasSameVersions(before, after))
    return { removed: new Map(), added: new Map() };
  const previousTexts = getTextByVersion(before);
  const currentTexts = getTextByVersion(after);
  const differs = ([versionId, text]: [string, string], other: Map<string, string>) =>
    other.get(versionId) !== text;
  return {
    removed: new Map([...previousTexts].filter((text) => differs(text, currentTexts))),
    added: new Map([...currentTexts].filter((text) => differs(text, previousTexts))),
  };
}

function hasSameVersions(before: ChatNode, after: ChatNode): boolean {
  if (before.kind === "separator" || after.kind === "separator") return before.kind === after.kind;
  return before.versions === after.versions;
}

/** Returns the indexed text of each version in a row, by version id. For a chat header, its title with the id "". */
export function getIndexableTexts(json: string): Map<string, string> {
  const row = JSON.parse(json) as StoredChatHeader | ChatNode;
  return "kind" in row ? getTextByVersion(row) : new Map([["", row.title]]);
}

/** Returns the text of an index entry from the row of its node. */
export function findVersionText(json: string, versionId: string): string | undefined {
  return getTextAndFormat(json, versionId).text;
}

/** Like `findVersionText`, and also returns whether the text is Markdown. Only answers are. */
export function getTextAndFormat(
  json: string,
  versionId: string,
): { text: string | undefined; isMarkdown: boolean } {
  if (versionId === "")
    return { text: (JSON.parse(json) as StoredChatHeader).title, isMarkdown: false };
  const node = JSON.parse(json) as ChatNode;
  return { text: getTextByVersion(node).get(versionId), isMarkdown: node.kind === "answer" };
}

/** Returns the ids of all versions in a removal. */
export function listVersionIds(removal: Removal): string[] {
  // Not `type`, which removals of earlier releases do not have.
  if ("version" in removal) return [removal.version.version_id];
  return removal.nodes.flatMap((node) =>
    node.kind === "separator" ? [] : node.versions.map(({ version_id }) => version_id),
  );
}
