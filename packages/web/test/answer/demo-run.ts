import {
  reduce,
  emptyTree,
  type ApprovalDecision,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import {
  createChatClient,
  findNode,
  type AnswerVersion,
  type ChatClient,
  type ChatSettings,
} from "@deltawire/tasks/chats";

/** An answer of the demo agent: the events of its task, the state reduced from them, and the stored version. */
export interface DemoRun {
  readonly events: readonly TaskEvent[];
  readonly tree: TaskTree;
  readonly version: AnswerVersion;
}

export interface DemoPrompt {
  readonly text: string;
  readonly settings?: ChatSettings;
  /** The decision for every approval. */
  readonly decision?: ApprovalDecision;
  /** Called after the message was sent. */
  readonly whileRunning?: (client: ChatClient, taskId: string, chatId: string) => Promise<unknown>;
}

export async function recordDemoRun(base: string, prompt: DemoPrompt): Promise<DemoRun> {
  const client = createChatClient({ baseUrl: base, fetch: (url, request) => fetch(url, request) });
  const { chat } = await client.create({ settings: prompt.settings ?? { agent: "demo-agent" } });
  const sent = await client.send(chat.chat_id, { text: prompt.text });
  await prompt.whileRunning?.(client, sent.task_id, chat.chat_id);
  const version = await waitForEnd(client, chat.chat_id, sent.node_id, prompt.decision);
  const events = await readTaskLog(base, sent.task_id);
  return { events, tree: reduceEvents(events), version };
}

export function reduceEvents(events: readonly TaskEvent[]): TaskTree {
  return reduce(emptyTree, events);
}

async function waitForEnd(
  client: ChatClient,
  chatId: string,
  nodeId: string,
  decision: ApprovalDecision | undefined,
): Promise<AnswerVersion> {
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(20)) {
    const node = findNode((await client.get(chatId)).chat, nodeId);
    const version = node?.kind === "answer" ? node.versions.at(-1) : undefined;
    if (version !== undefined && version.status !== "running") return version;
    if (version?.waiting !== true || decision === undefined) continue;
    const { approvals } = await client.task(version.task_id ?? "");
    for (const { approval_id, status } of approvals)
      if (status === "pending") await client.decide(approval_id, { decision });
  }
  throw new Error("the answer did not end within 20 s");
}

async function readTaskLog(base: string, taskId: string): Promise<TaskEvent[]> {
  const reply = await fetch(`${base}/api/tasks/${taskId}/events?after=-1&replay=all`);
  const lines = (await reply.text()).split("\n").filter((line) => line.startsWith("data: "));
  return lines
    .map((line) => JSON.parse(line.slice("data: ".length)) as TaskEvent)
    .filter(({ sequence_number }) => sequence_number !== undefined);
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
