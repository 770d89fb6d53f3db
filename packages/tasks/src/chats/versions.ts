import { checkMessage } from "./chat-schemas.ts";
import type { Edited, EditWorld, NewAnswer, NewMessage, Refusal, Removal } from "./edit.ts";
import { followedVersion } from "./outdated.ts";
import { nodeOf } from "./path.ts";
import { badValue, refused, stillRunning, unknownNode, unknownVersion } from "./refusal.ts";
import { withNodes } from "./replace-in-tree.ts";
import { isRunning } from "./running.ts";
import type { AnswerNode, AnswerVersion, Chat, ChatNode, UserNode, UserVersion } from "./shapes.ts";

/* What can be done to one message without anything that stands under it being moved. */

export function addMessageVersion(
  chat: Chat,
  nodeId: string,
  message: NewMessage,
  world: EditWorld,
): Edited {
  const problems = checkMessage(message, "message");
  if (problems.length > 0) return badValue(problems);
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  if (node.kind !== "user")
    return refused("illegal_place", "this is no message of the user: it cannot be edited as one");
  const above = node.parent === null ? undefined : nodeOf(chat, node.parent);
  return withNewVersion(chat, node, newUserVersion(message, world, above));
}

export function addAnswerVersion(
  chat: Chat,
  nodeId: string,
  answer: NewAnswer,
  world: EditWorld,
): Edited {
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  if (node.kind !== "answer")
    return refused("illegal_place", "this is no answer: it has no other version to ask for");
  if (isRunning(node)) return stillRunning();
  const wrong = wrongContinuation(node.versions, answer);
  return wrong ?? withNewVersion(chat, node, newAnswerVersion(answer, world));
}

export function chooseVersion(chat: Chat, nodeId: string, versionId: string): Edited {
  const found = versioned(chat, nodeId, versionId);
  if (!found.ok) return found;
  if (found.node.version === versionId) return { ok: true, chat };
  return { ok: true, chat: withNodes(chat, [{ ...found.node, version: versionId }]) };
}

export function deleteVersion(
  chat: Chat,
  nodeId: string,
  versionId: string,
  world: EditWorld,
): Edited {
  const found = versioned(chat, nodeId, versionId);
  if (!found.ok) return found;
  const { node, version, index } = found;
  if ("status" in version && version.status === "running") return stillRunning();
  if (node.versions.length === 1)
    return refused("only_version", "it is the only version: delete the message instead");
  if (node.versions.some((other) => "continues" in other && other.continues === versionId))
    return refused("in_use", "another version goes on from this one: delete that one first");
  const wasChosen = node.version === versionId;
  const rest = node.versions.toSpliced(index, 1);
  const nearest = rest[index - 1] ?? rest[index];
  const chosen = wasChosen && nearest !== undefined ? nearest.version_id : node.version;
  const removal: Removal = {
    removal_id: world.newId("removal"),
    removed_at: world.now(),
    what: "version",
    node_id: nodeId,
    index,
    version,
    ...(wasChosen ? { instead: chosen } : {}),
  };
  return { ok: true, chat: withNodes(chat, [withVersions(node, rest, chosen)]), removal };
}

export function newUserVersion(
  message: NewMessage,
  world: EditWorld,
  above?: ChatNode,
): UserVersion {
  const follows = followedVersion(above);
  const { text, attachments = [], contexts = [], options } = message;
  return {
    version_id: world.newId("version"),
    created_at: world.now(),
    text,
    attachments,
    contexts,
    ...(options === undefined ? {} : { options }),
    ...(follows === undefined ? {} : { follows }),
  };
}

export function newAnswerVersion(answer: NewAnswer, world: EditWorld): AnswerVersion {
  return { ...answer, version_id: world.newId("version"), created_at: world.now() };
}

/** What an answer goes on from is a version beside it. */
export function wrongContinuation(
  versions: readonly AnswerVersion[],
  { continues }: NewAnswer,
): Refusal | undefined {
  if (continues === undefined) return undefined;
  return versions.some(({ version_id }) => version_id === continues)
    ? undefined
    : unknownVersion(continues);
}

/** The versions are of the node's own kind. */
export function withVersions(
  node: UserNode | AnswerNode,
  versions: readonly (UserVersion | AnswerVersion)[],
  chosen: string,
): UserNode | AnswerNode {
  return { ...node, versions, version: chosen } as UserNode | AnswerNode;
}

function withNewVersion(
  chat: Chat,
  node: UserNode | AnswerNode,
  version: UserVersion | AnswerVersion,
): Edited {
  const { version_id } = version;
  const changed = withVersions(node, [...node.versions, version], version_id);
  return { ok: true, chat: withNodes(chat, [changed]), node_id: node.node_id, version_id };
}

type Versioned = {
  readonly ok: true;
  readonly node: UserNode | AnswerNode;
  readonly version: UserVersion | AnswerVersion;
  readonly index: number;
};

function versioned(chat: Chat, nodeId: string, versionId: string): Versioned | Refusal {
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  if (node.kind === "separator") return refused("illegal_place", "a separator has no versions");
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  return version === undefined ? unknownVersion(versionId) : { ok: true, node, version, index };
}
