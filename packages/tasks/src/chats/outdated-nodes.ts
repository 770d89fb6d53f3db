import { getChosenVersion, currentPath } from "./chat-path.ts";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  ChatNode,
  UserNode,
  UserVersion,
} from "./chat-types.ts";

/**
 * Finds the outdated nodes of a path: those that were written for a version of their parent other than the displayed one,
 * and all nodes below. This happens when a message is edited in place or an answer is generated again. Nodes below a separator
 * do not depend on those above it. A node is not outdated if it is not known which version it was written for.
 */
export function findOutdatedNodes(
  chat: Chat,
  path: readonly ChatNode[] = currentPath(chat),
): Set<string> {
  const outdated = new Set<string>();
  let parentNode: ChatNode | undefined;
  for (const node of path) {
    const isParentOutdated = parentNode !== undefined && outdated.has(parentNode.node_id);
    if (isOutdated(node, parentNode, isParentOutdated)) outdated.add(node.node_id);
    parentNode = node;
  }
  return outdated;
}

/** Like `findOutdatedNodes` for one node, if it is known whether its parent is outdated. */
export function isOutdated(
  node: ChatNode,
  parentNode: ChatNode | undefined,
  isParentOutdated: boolean,
): boolean {
  if (node.kind === "separator") return false;
  return isParentOutdated || isBasedOnOtherVersion(node, parentNode);
}

/** Returns the version of the parent that a new message follows. Undefined if the parent has only one version. */
export function findFollowedVersion(parentNode: ChatNode | undefined): string | undefined {
  if (parentNode === undefined || parentNode.kind === "separator") return undefined;
  return parentNode.versions.length > 1 ? parentNode.version : undefined;
}

function isBasedOnOtherVersion(
  node: UserNode | AnswerNode,
  parentNode: ChatNode | undefined,
): boolean {
  if (parentNode === undefined || parentNode.kind === "separator") return false;
  const basis = findBasis(getChosenVersion(node), parentNode);
  return basis !== undefined && basis !== parentNode.version;
}

function findBasis(
  version: UserVersion | AnswerVersion,
  { versions }: UserNode | AnswerNode,
): string | undefined {
  const recordedVersion = "output" in version ? version.answers : version.follows;
  if (recordedVersion !== undefined)
    return versions.find(({ version_id }) => version_id === recordedVersion)?.version_id;
  // No version is recorded if the parent had only one version then. Earlier releases never recorded one: the times are compared.
  const [first, ...later] = versions;
  const areOthersNewer = later.every(({ created_at }) => created_at > version.created_at);
  return areOthersNewer ? first?.version_id : undefined;
}
