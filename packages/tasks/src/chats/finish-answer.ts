import type { AnswerEnd, Edited } from "./edit.ts";
import { nodeOf } from "./path.ts";
import { refused, unknownNode, unknownVersion } from "./refusal.ts";
import { withNodes } from "./replace-in-tree.ts";
import type { AnswerVersion, Chat } from "./shapes.ts";

export function finishAnswer(
  chat: Chat,
  nodeId: string,
  versionId: string,
  end: AnswerEnd,
): Edited {
  return whileRunning(chat, nodeId, versionId, (running) => {
    const { waiting: _waiting, ...version } = running;
    return { ...version, ...end, notices: [...version.notices, ...(end.notices ?? [])] };
  });
}

/** Whether a person has to decide something before it can go on. */
export function answerWaits(chat: Chat, nodeId: string, versionId: string, value: boolean): Edited {
  return whileRunning(chat, nodeId, versionId, (running) => {
    if ((running.waiting ?? false) === value) return running;
    const { waiting: _waiting, ...version } = running;
    return value ? { ...version, waiting: true } : version;
  });
}

function whileRunning(
  chat: Chat,
  nodeId: string,
  versionId: string,
  change: (version: AnswerVersion) => AnswerVersion,
): Edited {
  const node = nodeOf(chat, nodeId);
  if (node === undefined) return unknownNode(nodeId);
  if (node.kind !== "answer") return refused("illegal_place", "this is no answer");
  const index = node.versions.findIndex(({ version_id }) => version_id === versionId);
  const version = node.versions[index];
  if (version === undefined) return unknownVersion(versionId);
  if (version.status !== "running")
    return refused("illegal_place", "the answer has ended: nothing more comes to it");
  const changed = change(version);
  if (changed === version) return { ok: true, chat };
  const versions = node.versions.with(index, changed);
  return { ok: true, chat: withNodes(chat, [{ ...node, versions }]) };
}
