import type { AnswerEnd, EditResult } from "./edit.ts";
import { findNode } from "./chat-path.ts";
import { rejectEdit, rejectUnknownNode, rejectUnknownVersion } from "./edit-rejection.ts";
import { withNodes } from "./update-tree.ts";
import type { AnswerVersion, Chat } from "./chat-types.ts";

export function finishAnswer(
  chat: Chat,
  nodeId: string,
  versionId: string,
  end: AnswerEnd,
): EditResult {
  return updateRunningVersion(chat, nodeId, versionId, (runningVersion) => {
    const { waiting: _waiting, ...version } = runningVersion;
    return { ...version, ...end, notices: [...version.notices, ...(end.notices ?? [])] };
  });
}

/** Sets whether a running answer is waiting for a user's decision. */
export function setAnswerWaiting(
  chat: Chat,
  nodeId: string,
  versionId: string,
  isWaiting: boolean,
): EditResult {
  return updateRunningVersion(chat, nodeId, versionId, (runningVersion) => {
    if ((runningVersion.waiting ?? false) === isWaiting) return runningVersion;
    const { waiting: _waiting, ...version } = runningVersion;
    return isWaiting ? { ...version, waiting: true } : version;
  });
}

function updateRunningVersion(
  chat: Chat,
  nodeId: string,
  versionId: string,
  change: (version: AnswerVersion) => AnswerVersion,
): EditResult {
  const node = findNode(chat, nodeId);
  if (node === undefined) return rejectUnknownNode(nodeId);
  if (node.kind !== "answer") return rejectEdit("invalid_position", "the message is not an answer");
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  if (version === undefined) return rejectUnknownVersion(versionId);
  if (version.status !== "running")
    return rejectEdit("invalid_position", "the answer is no longer running");
  const changedVersion = change(version);
  if (changedVersion === version) return { ok: true, chat };
  const versions = node.versions.with(index, changedVersion);
  return { ok: true, chat: withNodes(chat, [{ ...node, versions }]) };
}
