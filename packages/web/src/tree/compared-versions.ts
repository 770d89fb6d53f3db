import { findNode, type AnswerNode, type Chat, type UserNode } from "@deltawire/tasks/chats";

/** One side of a comparison. */
export interface ComparedVersion {
  readonly nodeId: string;
  readonly versionId: string;
}

export type ComparedVersions = readonly ComparedVersion[];

export const sideLabels = ["A", "B"] as const;

/** Adds the version. If a version of the same node is already selected, removes that one instead. A third one replaces the first. */
export function toggleComparedVersion(
  versions: ComparedVersions,
  selectedVersion: ComparedVersion,
): ComparedVersions {
  const others = versions.filter(({ nodeId }) => nodeId !== selectedVersion.nodeId);
  return others.length < versions.length
    ? others
    : [...versions, selectedVersion].slice(-sideLabels.length);
}

/** Returns the chosen version with the one before it, or the first two if the first is chosen. Undefined if there is only one. */
export function getAdjacentVersions(node: UserNode | AnswerNode): ComparedVersions | undefined {
  const ids: readonly string[] = node.versions.map(({ version_id }) => version_id);
  const index = ids.indexOf(node.version);
  const [first, second] = index > 0 ? [ids[index - 1], ids[index]] : [ids[0], ids[1]];
  if (first === undefined || second === undefined) return undefined;
  const nodeId = node.node_id;
  return [
    { nodeId, versionId: first },
    { nodeId, versionId: second },
  ];
}

/** Returns the versions that still exist. */
export function filterExistingVersions(chat: Chat, versions: ComparedVersions): ComparedVersions {
  return versions.filter(
    (selectedVersion) => findComparedVersion(chat, selectedVersion) !== undefined,
  );
}

export function findComparedVersion(chat: Chat, { nodeId, versionId }: ComparedVersion) {
  const node = findMessageNode(chat, nodeId);
  if (node === undefined) return undefined;
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  return version === undefined ? undefined : { node, version, number: index + 1 };
}

/** Returns undefined for a separator, which is not a message. */
export function findMessageNode(chat: Chat, nodeId: string): UserNode | AnswerNode | undefined {
  const node = findNode(chat, nodeId);
  return node === undefined || node.kind === "separator" ? undefined : node;
}
