import { isDeepStrictEqual } from "node:util";
import type { AnswerVersion, Chat } from "@deltawire/tasks/chats";
import type { Cluster } from "../../../../test/cluster/cluster.ts";
import type { ClusterFollower } from "../../../../test/cluster/cluster-follower.ts";
import type { ClusterProcess } from "../../../../test/cluster/cluster-process.ts";
import { getTool, listAnswers, type FollowedTask, type Workload } from "./workload.ts";

export interface Judgement {
  faults: string[];
  comparedHashes: number;
  differentHashes: number;
  /** Answers to messages that no process had accepted. */
  interruptedAnswers: number;
  /** Calls that were canceled while they ran, so that they may have been carried out or not. */
  uncertainCalls: number;
}

const concurrency = 8;
/** How much of a task's output a fault shows, in characters. */
const maxOutputLength = 2000;

/** Returns the faults of followers: gaps in the numbers of events that were not closed when the follower started over. */
export function judgeFollowers(
  followers: readonly Pick<ClusterFollower, "listMissingEvents">[],
): string[] {
  return followers.flatMap((follower, index) =>
    follower.listMissingEvents().map((problem) => `follower ${index + 1}: ${problem}`),
  );
}

/** Compares what users have seen with what every process says and what the ledger has counted. All processes must run. */
export async function judgeCluster(cluster: Cluster, workload: Workload): Promise<Judgement> {
  const judgement: Judgement = {
    faults: [],
    comparedHashes: 0,
    differentHashes: 0,
    interruptedAnswers: 0,
    uncertainCalls: 0,
  };
  const { processes } = cluster;
  await forEachConcurrently(workload.tasks, (task) => judgeTask(task, cluster, judgement));
  await forEachConcurrently(workload.chatIds, async (chatId) => {
    const chats = await Promise.all(processes.map((process) => readChat(process, chatId)));
    if (chats.some((chat) => !isDeepStrictEqual(chat, chats[0])))
      judgement.faults.push(`${chatId} differs between processes`);
    for (const answer of chats[0] === undefined ? [] : listAnswers(chats[0]))
      if (answer.status !== "completed") await judgeAnswer(answer, workload, cluster, judgement);
  });
  for (const process of processes) {
    const { data } = await process.fetchJson<{ data: unknown[] }>("/api/approvals");
    if (data.length > 0)
      judgement.faults.push(`${process.name} still lists ${data.length} pending approvals`);
  }
  for (const repeatedCall of cluster.ledger.listRepeated())
    judgement.faults.push(`a call that must run once was repeated: ${repeatedCall}`);
  return judgement;
}

/**
 * Judges an answer that is not completed. Users repeat messages that were not accepted, so their answers may be interrupted, but
 * only before their tasks were stored: a stored task is continued.
 */
async function judgeAnswer(
  { task_id: taskId = "", status, error }: AnswerVersion,
  { acceptedTaskIds }: Workload,
  { processes }: Cluster,
  judgement: Judgement,
): Promise<void> {
  const { faults } = judgement;
  if (error?.code !== "interrupted" || acceptedTaskIds.has(taskId)) {
    faults.push(`the answer of ${taskId} is ${status}: ${error?.message ?? "no error"}`);
    return;
  }
  judgement.interruptedAnswers += 1;
  const reply = await processes[0]?.requestJson(`/api/tasks/${taskId}`);
  if (reply?.status !== 404)
    faults.push(
      `the answer of ${taskId} is interrupted, but its task exists: ${JSON.stringify(reply?.body).slice(0, maxOutputLength)}`,
    );
}

async function judgeTask(
  { taskId, kind, entry, outcome }: FollowedTask,
  { processes, ledger }: Cluster,
  judgement: Judgement,
): Promise<void> {
  const { faults } = judgement;
  if (outcome === undefined) return void faults.push(await describeLostTask(taskId, processes));
  const storedHashes = await Promise.all(processes.map((process) => process.readStateHash(taskId)));
  const hashes = [...outcome.hashes, ...storedHashes];
  judgement.comparedHashes += hashes.length;
  if (new Set(hashes).size > 1) {
    judgement.differentHashes += hashes.filter((hash) => hash !== storedHashes[0]).length;
    faults.push(`the followers and processes have different states of ${taskId} (it ${kind})`);
  }
  const { status, expectedRuns, reason } = outcome;
  if (status !== "completed" && !(kind === "is canceled" && status === "canceled"))
    faults.push(`${taskId} (it ${kind}) is ${status}`);
  const tool = getTool(kind);
  if (tool === undefined) return;
  if (reason === "canceled while it ran") judgement.uncertainCalls += 1;
  const count = ledger.count(tool, entry);
  const { min, max } = expectedRuns;
  if (count < min || count > max)
    faults.push(
      `${taskId}: ${tool} ran ${count} times instead of ${min} (${reason}); its output: ${await readOutput(taskId, processes)}`,
    );
}

/** Says how the task is stored, and what the processes have logged about it. */
async function describeLostTask(
  taskId: string,
  processes: readonly ClusterProcess[],
): Promise<string> {
  const views = await Promise.all(processes.map((process) => process.readTask(taskId)));
  const logLines = processes.flatMap(({ name, log }) =>
    log.split("\n").flatMap((text) => (text.includes(taskId) ? [`  ${name}: ${text}`] : [])),
  );
  const states = views.map(({ status, approvals }) => {
    const pending = approvals.filter((approval) => approval.status === "pending");
    return `${status} with ${pending.length} pending approvals`;
  });
  return [
    `no follower received the end of ${taskId}, which is ${[...new Set(states)].join(", or ")}`,
    ...logLines,
  ].join("\n");
}

/** Returns the last items of a task. */
async function readOutput(taskId: string, [process]: readonly ClusterProcess[]): Promise<string> {
  const view = await process?.readTask(taskId);
  return JSON.stringify(view?.output).slice(-maxOutputLength);
}

async function readChat(process: ClusterProcess, chatId: string): Promise<Chat> {
  return (await process.fetchJson<{ chat: Chat }>(`/api/chats/${chatId}`)).chat;
}

async function forEachConcurrently<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of remaining) await run(item);
    }),
  );
}
