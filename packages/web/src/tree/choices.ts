import { nodeOf, type AnswerNode, type Chat, type UserNode } from "@deltawire/tasks/chats";

/** One side of a comparison. */
export interface Choice {
  readonly nodeId: string;
  readonly versionId: string;
}

export type Choices = readonly Choice[];

export const letters = ["A", "B"] as const;

/** One more, unless it is chosen already: then one less. Of three the first goes. */
export function toggled(choices: Choices, choice: Choice): Choices {
  const others = choices.filter(({ nodeId }) => nodeId !== choice.nodeId);
  return others.length < choices.length ? others : [...choices, choice].slice(-letters.length);
}

/** The version that is shown of a node and the one before it, or after it if it is the first. Undefined where there is one only. */
export function versionsToCompare(node: UserNode | AnswerNode): Choices | undefined {
  const ids: readonly string[] = node.versions.map(({ version_id }) => version_id);
  const at = ids.indexOf(node.version);
  const [first, second] = at > 0 ? [ids[at - 1], ids[at]] : [ids[0], ids[1]];
  if (first === undefined || second === undefined) return undefined;
  const nodeId = node.node_id;
  return [
    { nodeId, versionId: first },
    { nodeId, versionId: second },
  ];
}

/** Those that are still there. */
export function choicesIn(chat: Chat, choices: Choices): Choices {
  return choices.filter((choice) => chosenIn(chat, choice) !== undefined);
}

export function chosenIn(chat: Chat, { nodeId, versionId }: Choice) {
  const node = messageIn(chat, nodeId);
  if (node === undefined) return undefined;
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  return version === undefined ? undefined : { node, version, number: index + 1 };
}

/** A separator says nothing: it is no message. */
export function messageIn(chat: Chat, nodeId: string): UserNode | AnswerNode | undefined {
  const node = nodeOf(chat, nodeId);
  return node === undefined || node.kind === "separator" ? undefined : node;
}
