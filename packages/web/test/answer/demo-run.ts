import { reduce, emptyTree, type Decision, type TaskEvent, type TaskTree } from "@deltawire/tasks";
import {
  createChatClient,
  nodeOf,
  type AnswerVersion,
  type ChatClient,
  type ChatSettings,
} from "@deltawire/tasks/chats";

/** An answer of the demo, as its log tells it and as its chat keeps it. */
export interface DemoRun {
  readonly events: readonly TaskEvent[];
  readonly tree: TaskTree;
  readonly version: AnswerVersion;
}

export interface DemoAsk {
  readonly text: string;
  readonly settings?: ChatSettings;
  /** What is decided wherever a person is asked. */
  readonly decision?: Decision;
  /** Done once it runs. */
  readonly meanwhile?: (client: ChatClient, taskId: string, chatId: string) => Promise<unknown>;
}

export async function demoRun(base: string, ask: DemoAsk): Promise<DemoRun> {
  const client = createChatClient({ base, fetch: (url, request) => fetch(url, request) });
  const { chat } = await client.create({ settings: ask.settings ?? { agent: "demo-agent" } });
  const sent = await client.send(chat.chat_id, { text: ask.text });
  await ask.meanwhile?.(client, sent.task_id, chat.chat_id);
  const version = await ended(client, chat.chat_id, sent.node_id, ask.decision);
  const events = await logOf(base, sent.task_id);
  return { events, tree: treeAfter(events), version };
}

export function treeAfter(events: readonly TaskEvent[]): TaskTree {
  return reduce(emptyTree, events);
}

async function ended(
  client: ChatClient,
  chatId: string,
  nodeId: string,
  decision: Decision | undefined,
): Promise<AnswerVersion> {
  for (const end = Date.now() + 20_000; Date.now() < end; await pause(20)) {
    const node = nodeOf((await client.open(chatId)).chat, nodeId);
    const version = node?.kind === "answer" ? node.versions.at(-1) : undefined;
    if (version !== undefined && version.status !== "running") return version;
    if (version?.waiting !== true || decision === undefined) continue;
    const { approvals } = await client.task(version.task_id ?? "");
    for (const { approval_id, status } of approvals)
      if (status === "pending") await client.decide(approval_id, { decision });
  }
  throw new Error("the answer never came to its end");
}

async function logOf(base: string, taskId: string): Promise<TaskEvent[]> {
  const reply = await fetch(`${base}/api/tasks/${taskId}/events?after=-1&replay=all`);
  const lines = (await reply.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines
    .map((line) => JSON.parse(line.slice("data: ".length)) as TaskEvent)
    .filter(({ sequence_number }) => sequence_number !== undefined);
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
