import {
  nextOnPath,
  type AnswerNode,
  type AnswerVersion,
  type Chat,
  type ChatNode,
  type PersonEdit,
  type UserNode,
} from "@deltawire/tasks/chats";

/** `‹ 2/3 ›`: where one is among those that can be shown, and what is before and after it. */
export interface Switch {
  /** From 1 on. */
  readonly at: number;
  readonly of: number;
  readonly previous: string | undefined;
  readonly next: string | undefined;
}

/** Undefined where there is nothing to switch to. */
export function switchOf(ids: readonly string[], shown: string): Switch | undefined {
  const index = ids.indexOf(shown);
  if (index === -1 || ids.length < 2) return undefined;
  return { at: index + 1, of: ids.length, previous: ids[index - 1], next: ids[index + 1] };
}

/** One that another goes on from is part of that one's answer, and not offered beside it, unless it is the one that is shown. */
export function offeredVersions(node: UserNode | AnswerNode): string[] {
  const continued = node.kind === "answer" ? node.versions.map((version) => version.continues) : [];
  return node.versions
    .map(({ version_id }) => version_id)
    .filter((id) => id === node.version || !continued.includes(id));
}

/** What shows a version. With one of a message comes the last answer that was given to it. */
export function versionEdits(
  chat: Chat,
  node: UserNode | AnswerNode,
  versionId: string,
): PersonEdit[] {
  const shows: PersonEdit = {
    type: "choose_version",
    node_id: node.node_id,
    version_id: versionId,
  };
  const below = node.kind === "user" ? nextOnPath(chat, node.node_id) : undefined;
  if (below?.kind !== "answer") return [shows];
  const answer = below.versions.findLast(({ answers }) => answers === versionId);
  if (answer === undefined || answer.version_id === below.version) return [shows];
  return [shows, { type: "choose_version", node_id: below.node_id, version_id: answer.version_id }];
}

/** The number of the message's version that an answer was given to, where another one is shown. */
export function answeredVersion(
  above: ChatNode | undefined,
  version: AnswerVersion,
): { readonly number: number; readonly versionId: string } | undefined {
  const { answers } = version;
  if (above?.kind !== "user" || answers === undefined || answers === above.version)
    return undefined;
  const index = above.versions.findIndex(({ version_id }) => version_id === answers);
  return index === -1 ? undefined : { number: index + 1, versionId: answers };
}
