import { addUsage, type TaskTree } from "@deltawire/tasks";
import { toAnswerTask, findRunningAnswers, findRunningVersions } from "@deltawire/tasks/chats";
import type { Chat, ChatUpdate, StoredChat } from "@deltawire/tasks/chats";

/** Returns undefined if the task cannot be read; the chat is then shown without live output. */
type ReadTaskState = (taskId: string) => Promise<TaskTree | undefined>;

/** Adds the current output of their tasks to the running answers of a chat. */
export async function withLiveAnswers(
  stored: StoredChat,
  readState: ReadTaskState,
): Promise<StoredChat> {
  const nodes = await mergeLiveNodes(stored.chat, readState);
  return nodes === stored.chat.nodes ? stored : { ...stored, chat: { ...stored.chat, nodes } };
}

/** Like `withLiveAnswers`, for a chat update, which always contains the running answers. */
export async function withLiveAnswersInUpdate(
  update: ChatUpdate,
  readState: ReadTaskState,
): Promise<ChatUpdate> {
  const { chat_id } = update.chat;
  const nodes = await mergeLiveNodes({ chat_id, nodes: update.nodes }, readState);
  // Stored nodes of running answers do not include their usage.
  const usages = Object.values(nodes)
    .flatMap(findRunningVersions)
    .flatMap(({ tree_usage, usage }) => tree_usage ?? usage ?? []);
  return { ...update, nodes, usage: usages.reduce(addUsage, update.usage) };
}

async function mergeLiveNodes(
  chatNodes: Pick<Chat, "chat_id" | "nodes">,
  readState: ReadTaskState,
): Promise<Chat["nodes"]> {
  const runningAnswers = findRunningAnswers(chatNodes);
  if (runningAnswers.length === 0) return chatNodes.nodes;
  const nodes = { ...chatNodes.nodes };
  for (const { node_id, version_id, task_id } of runningAnswers) {
    const node = nodes[node_id];
    const tree = await readState(task_id);
    if (node?.kind !== "answer" || tree?.tasks[task_id] === undefined) continue;
    const versions = node.versions.map((version) =>
      version.version_id === version_id ? { ...version, ...toAnswerTask(tree) } : version,
    );
    nodes[node_id] = { ...node, versions };
  }
  return nodes;
}
