import type { RunningAnswer } from "./chat-store.ts";
import type { AnswerVersion, Chat, ChatNode } from "./shapes.ts";

/** The answers of a chat that run, with the tasks that make them. */
export function runningAnswers({
  chat_id,
  nodes,
}: Pick<Chat, "chat_id" | "nodes">): RunningAnswer[] {
  return Object.values(nodes).flatMap((node) =>
    runningVersions(node).flatMap(({ version_id, task_id }) =>
      task_id === undefined ? [] : [{ chat_id, node_id: node.node_id, version_id, task_id }],
    ),
  );
}

export function runningVersions(node: ChatNode): AnswerVersion[] {
  return node.kind === "answer" ? node.versions.filter(({ status }) => status === "running") : [];
}

export function isRunning(node: ChatNode): boolean {
  return runningVersions(node).length > 0;
}
