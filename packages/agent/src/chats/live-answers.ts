import { addUsage, type TaskTree } from "@deltawire/tasks";
import { answerTask, runningAnswers, runningVersions } from "@deltawire/tasks/chats";
import type { Chat, ChatSince, KeptChat } from "@deltawire/tasks/chats";

/** Undefined where a task cannot be read: that is no reason not to show its chat. */
type StateOf = (taskId: string) => Promise<TaskTree | undefined>;

/** A chat whose running answers have all that their tasks have said so far. */
export async function liveChat(kept: KeptChat, stateOf: StateOf): Promise<KeptChat> {
  const nodes = await liveNodes(kept.chat, stateOf);
  return nodes === kept.chat.nodes ? kept : { ...kept, chat: { ...kept.chat, nodes } };
}

/** The same for what has changed in a chat: all that runs is among it. */
export async function liveSince(since: ChatSince, stateOf: StateOf): Promise<ChatSince> {
  const { chat_id } = since.chat;
  const nodes = await liveNodes({ chat_id, nodes: since.nodes }, stateOf);
  // What is kept of an answer that runs says nothing of what it has used.
  const used = Object.values(nodes)
    .flatMap(runningVersions)
    .flatMap(({ tree_usage, usage }) => tree_usage ?? usage ?? []);
  return { ...since, nodes, usage: used.reduce(addUsage, since.usage) };
}

async function liveNodes(
  of: Pick<Chat, "chat_id" | "nodes">,
  stateOf: StateOf,
): Promise<Chat["nodes"]> {
  const running = runningAnswers(of);
  if (running.length === 0) return of.nodes;
  const nodes = { ...of.nodes };
  for (const { node_id, version_id, task_id } of running) {
    const node = nodes[node_id];
    const tree = await stateOf(task_id);
    if (node?.kind !== "answer" || tree?.tasks[task_id] === undefined) continue;
    const versions = node.versions.map((version) =>
      version.version_id === version_id ? { ...version, ...answerTask(tree) } : version,
    );
    nodes[node_id] = { ...node, versions };
  }
  return nodes;
}
