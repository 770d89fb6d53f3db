import type { RunningAnswer } from "./chat-store.ts";
import type { AnswerVersion, Chat, ChatNode } from "./chat-types.ts";

/** Returns the running answers of a chat and their tasks. */
export function findRunningAnswers({
  chat_id,
  nodes,
}: Pick<Chat, "chat_id" | "nodes">): RunningAnswer[] {
  return Object.values(nodes).flatMap((node) =>
    findRunningVersions(node).flatMap(({ version_id, task_id }) =>
      task_id === undefined ? [] : [{ chat_id, node_id: node.node_id, version_id, task_id }],
    ),
  );
}

export function findRunningVersions(node: ChatNode): AnswerVersion[] {
  return node.kind === "answer" ? node.versions.filter(({ status }) => status === "running") : [];
}

export function isRunning(node: ChatNode): boolean {
  return findRunningVersions(node).length > 0;
}
