import { checkMessage } from "./chat-schemas.ts";
import type {
  EditResult,
  EditEnvironment,
  NewAnswer,
  NewMessage,
  EditRejection,
  Removal,
} from "./edit.ts";
import { findFollowedVersion } from "./outdated-nodes.ts";
import { findNode } from "./chat-path.ts";
import {
  rejectBadValue,
  rejectEdit,
  rejectStillRunning,
  rejectUnknownNode,
  rejectUnknownVersion,
} from "./edit-rejection.ts";
import { withNodes } from "./update-tree.ts";
import { isRunning } from "./running-answers.ts";
import type {
  AnswerNode,
  AnswerVersion,
  Chat,
  ChatNode,
  UserNode,
  UserVersion,
} from "./chat-types.ts";

/* Edits of one message that do not move the nodes below it. */

export function addMessageVersion(
  chat: Chat,
  nodeId: string,
  message: NewMessage,
  environment: EditEnvironment,
): EditResult {
  const problems = checkMessage(message, "message");
  if (problems.length > 0) return rejectBadValue(problems);
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  if (node.kind !== "user")
    return rejectEdit("invalid_position", "only a user message can be edited");
  const parentNode = node.parent === null ? undefined : findNode(chat, node.parent);
  return withNewVersion(chat, node, createUserVersion(message, environment, parentNode));
}

export function addAnswerVersion(
  chat: Chat,
  nodeId: string,
  answer: NewAnswer,
  environment: EditEnvironment,
): EditResult {
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  if (node.kind !== "answer")
    return rejectEdit("invalid_position", "only an answer can be generated again");
  if (isRunning(node)) return rejectStillRunning();
  const rejection = rejectWrongContinuation(node.versions, answer);
  return rejection ?? withNewVersion(chat, node, createAnswerVersion(answer, environment));
}

export function chooseVersion(chat: Chat, nodeId: string, versionId: string): EditResult {
  const match = findVersion(chat, nodeId, versionId);
  if (!match.ok) return match;
  if (match.node.version === versionId) return { ok: true, chat };
  return { ok: true, chat: withNodes(chat, [{ ...match.node, version: versionId }]) };
}

export function deleteVersion(
  chat: Chat,
  nodeId: string,
  versionId: string,
  environment: EditEnvironment,
): EditResult {
  const match = findVersion(chat, nodeId, versionId);
  if (!match.ok) return match;
  const { node, version, index } = match;
  if ("status" in version && version.status === "running") return rejectStillRunning();
  if (node.versions.length === 1)
    return rejectEdit("only_version", "this is the only version; delete the message instead");
  if (node.versions.some((other) => "continues" in other && other.continues === versionId))
    return rejectEdit(
      "version_in_use",
      "another version continues this one; delete that version first",
    );
  const wasChosen = node.version === versionId;
  const remainingVersions = node.versions.toSpliced(index, 1);
  const nearest = remainingVersions[index - 1] ?? remainingVersions[index];
  const chosenId = wasChosen && nearest !== undefined ? nearest.version_id : node.version;
  const removal: Removal = {
    removal_id: environment.newId("removal"),
    removed_at: environment.now(),
    type: "version",
    node_id: nodeId,
    index,
    version,
    ...(wasChosen ? { instead: chosenId } : {}),
  };
  return {
    ok: true,
    chat: withNodes(chat, [withVersions(node, remainingVersions, chosenId)]),
    removal,
  };
}

export function createUserVersion(
  message: NewMessage,
  environment: EditEnvironment,
  parentNode?: ChatNode,
): UserVersion {
  const follows = findFollowedVersion(parentNode);
  const { text, attachments = [], contexts = [], options } = message;
  return {
    version_id: environment.newId("version"),
    created_at: environment.now(),
    text,
    attachments,
    contexts,
    ...(options === undefined ? {} : { options }),
    ...(follows === undefined ? {} : { follows }),
  };
}

export function createAnswerVersion(
  answer: NewAnswer,
  environment: EditEnvironment,
): AnswerVersion {
  return { ...answer, version_id: environment.newId("version"), created_at: environment.now() };
}

/** Rejects an answer that continues a version of another node. `versions`: the versions of its own node. */
export function rejectWrongContinuation(
  versions: readonly AnswerVersion[],
  { continues }: NewAnswer,
): EditRejection | undefined {
  if (continues === undefined) return undefined;
  return versions.some(({ version_id }) => version_id === continues)
    ? undefined
    : rejectUnknownVersion(continues);
}

/** Returns the node with other versions, which must be of its kind. */
export function withVersions(
  node: UserNode | AnswerNode,
  versions: readonly (UserVersion | AnswerVersion)[],
  chosenId: string,
): UserNode | AnswerNode {
  return { ...node, versions, version: chosenId } as UserNode | AnswerNode;
}

function withNewVersion(
  chat: Chat,
  node: UserNode | AnswerNode,
  version: UserVersion | AnswerVersion,
): EditResult {
  const { version_id } = version;
  const changedNode = withVersions(node, [...node.versions, version], version_id);
  return { ok: true, chat: withNodes(chat, [changedNode]), node_id: node.node_id, version_id };
}

type VersionMatch = {
  readonly ok: true;
  readonly node: UserNode | AnswerNode;
  readonly version: UserVersion | AnswerVersion;
  readonly index: number;
};

function findVersion(chat: Chat, nodeId: string, versionId: string): VersionMatch | EditRejection {
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  if (node.kind === "separator")
    return rejectEdit("invalid_position", "a separator has no versions");
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  return version === undefined
    ? rejectUnknownVersion(versionId)
    : { ok: true, node, version, index };
}
