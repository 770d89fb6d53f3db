import { chosenVersion, currentPath } from "./path.ts";
import type { AnswerNode, AnswerVersion, Chat, ChatNode, UserNode, UserVersion } from "./shapes.ts";

/**
 * The nodes of a path that are outdated: written for another version of what stands above them than the one that is shown,
 * or below such a node. A message that was changed in place outdates what follows, and so does an answer that was made again.
 * Nothing above a separator counts, and nothing is outdated of which it is not known what it was written for.
 */
export function outdatedNodes(
  chat: Chat,
  path: readonly ChatNode[] = currentPath(chat),
): Set<string> {
  const outdated = new Set<string>();
  let above: ChatNode | undefined;
  for (const node of path) {
    const isAboveOutdated = above !== undefined && outdated.has(above.node_id);
    if (isOutdated(node, above, isAboveOutdated)) outdated.add(node.node_id);
    above = node;
  }
  return outdated;
}

/** The same for one node, of which it is known whether the node above it is outdated. */
export function isOutdated(
  node: ChatNode,
  above: ChatNode | undefined,
  isAboveOutdated: boolean,
): boolean {
  if (node.kind === "separator") return false;
  return isAboveOutdated || isWrittenForAnother(node, above);
}

/** The version of the node above that a new message under it follows; undefined if that needs no note: there is only one. */
export function followedVersion(above: ChatNode | undefined): string | undefined {
  if (above === undefined || above.kind === "separator") return undefined;
  return above.versions.length > 1 ? above.version : undefined;
}

function isWrittenForAnother(node: UserNode | AnswerNode, above: ChatNode | undefined): boolean {
  if (above === undefined || above.kind === "separator") return false;
  const basis = basisOf(chosenVersion(node), above);
  return basis !== undefined && basis !== above.version;
}

function basisOf(
  version: UserVersion | AnswerVersion,
  { versions }: UserNode | AnswerNode,
): string | undefined {
  const noted = "output" in version ? version.answers : version.follows;
  if (noted !== undefined)
    return versions.find(({ version_id }) => version_id === noted)?.version_id;
  // Without a note there was one version only, unless an earlier release stored this: then the times decide.
  const [first, ...later] = versions;
  const wereLater = later.every(({ created_at }) => created_at > version.created_at);
  return wereLater ? first?.version_id : undefined;
}
