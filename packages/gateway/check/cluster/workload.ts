import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded, type TaskApproval, type TaskState, type TaskStatus } from "@deltawire/tasks";
import type { AnswerVersion, Chat } from "@deltawire/tasks/chats";
import type { ClusterFollower } from "../../../../test/cluster/cluster-follower.ts";
import type { LedgerTool } from "../../../../test/cluster/ledger.ts";
import { mustRepeat, type LoadBalancer } from "./load-balancer.ts";

/** What the tasks do. `input` may use `entry`, which no other task has. */
const taskKinds = {
  "writes a text": { input: (_entry: string, words: number) => `long ${words}` },
  "asks before a tool": { input: (entry: string) => `Please ledger__pay "${entry}"`, tool: "pay" },
  "runs a tool": { input: (entry: string) => `Please ledger__record "${entry}"`, tool: "record" },
  "reads with a tool": { input: (entry: string) => `Please ledger__look "${entry}"` },
  "has a sub-agent": {
    input: (entry: string) => `ask helper to ledger__pay "${entry}"`,
    tool: "pay",
  },
  "is canceled": { input: () => "long 2000" },
} as const satisfies Record<
  string,
  { input: (entry: string, words: number) => string; tool?: LedgerTool }
>;

type TaskKind = keyof typeof taskKinds;
const kindNames = Object.keys(taskKinds) as TaskKind[];

/** A task that a process has accepted, and what its followers received. */
export interface FollowedTask {
  readonly taskId: string;
  readonly kind: TaskKind;
  readonly entry: string;
  readonly startedAt: number;
  /** Set when all followers have received the end. */
  outcome: TaskOutcome | undefined;
}

interface TaskOutcome {
  readonly status: TaskStatus;
  /** The state of each follower. */
  readonly hashes: readonly (string | undefined)[];
  /** How often the tool must have run. */
  readonly expectedRuns: Range;
  /** Why, for messages. */
  readonly reason: string;
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export interface WorkloadOptions {
  balancer: LoadBalancer;
  /** The tasks are distributed over these. */
  followers: readonly ClusterFollower[];
  random: () => number;
  users: number;
  onFault: (fault: string) => void;
}

const followersPerTask = 2;
/** How long users still wait for their tasks after the end of the load. */
const settleTimeoutMs = 90_000;
const pollMs = 100;
const chatShare = 0.15;
const maxPauseMs = 400;
const maxWords = 1200;

/** Users who start tasks and chats one after another, and wait for the end of each. */
export class Workload {
  readonly #options: WorkloadOptions;
  /** Every accepted task. */
  readonly tasks: FollowedTask[] = [];
  /** The ids of all chats. */
  readonly chatIds: string[] = [];
  /** The tasks of the answers to messages that a process has accepted. */
  readonly acceptedTaskIds = new Set<string>();
  #entryCount = 0;
  #deadline = Infinity;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  /** Resolves when all users have finished. */
  async run(loadEndsAt: number): Promise<void> {
    const { users, onFault } = this.#options;
    this.#deadline = loadEndsAt + settleTimeoutMs;
    await Promise.all(
      Array.from({ length: users }, async () => {
        while (performance.now() < loadEndsAt) {
          await this.#runOne().catch((error: unknown) => onFault(String(error)));
          await sleep(this.#options.random() * maxPauseMs);
        }
      }),
    );
  }

  #runOne(): Promise<void> {
    const { random } = this.#options;
    if (random() < chatShare) return this.#runChat();
    return this.#runTask(kindNames[Math.floor(random() * kindNames.length)] ?? "writes a text");
  }

  async #runTask(kind: TaskKind): Promise<void> {
    const { balancer, random, followers } = this.#options;
    const entry = this.#newEntry();
    const input = taskKinds[kind].input(entry, 50 + Math.floor(random() * maxWords));
    const { status, body } = await balancer.request(
      "/api/tasks",
      { agent: "worker", input },
      { "idempotency-key": entry },
    );
    if (status !== 201 && status !== 200)
      throw new Error(`the start of a task was rejected: ${status} ${JSON.stringify(body)}`);
    const { task_id: taskId } = body as { task_id: string };
    const startedAt = performance.now();
    const task: FollowedTask = { taskId, kind, entry, startedAt, outcome: undefined };
    this.tasks.push(task);
    const offset = Math.floor(random() * followers.length);
    const ownFollowers = Array.from(
      { length: Math.min(followersPerTask, followers.length) },
      (_, index) => followers[(offset + index) % followers.length],
    ).filter((follower) => follower !== undefined);
    for (const follower of ownFollowers) follower.follow(taskId);
    if (kind === "is canceled") await this.#cancel(taskId);
    await this.#waitUntil(`${taskId} ends (it ${kind})`, () =>
      ownFollowers.every((follower) => follower.hasEnded(taskId)),
    );
    task.outcome = readOutcome(taskId, ownFollowers);
    for (const follower of ownFollowers) follower.unfollow(taskId);
  }

  async #cancel(taskId: string): Promise<void> {
    const { balancer, random } = this.#options;
    await sleep(random() * 3000);
    const { status, body } = await balancer.request(`/api/tasks/${taskId}/cancel`, {});
    if (status !== 200 && status !== 409)
      throw new Error(`a cancellation was rejected: ${status} ${JSON.stringify(body)}`);
  }

  async #runChat(): Promise<void> {
    const { balancer, random } = this.#options;
    const createReply = await balancer.request("/api/chats", {});
    const { chat } = createReply.body as { chat: Chat };
    this.chatIds.push(chat.chat_id);
    const text = random() < 0.5 ? `long ${50 + Math.floor(random() * maxWords)}` : undefined;
    await this.#send(chat.chat_id, () => text ?? `Please ledger__pay "${this.#newEntry()}"`);
    await this.#waitUntil(`the answer in ${chat.chat_id} ends`, async () => {
      const { body } = await balancer.request(`/api/chats/${chat.chat_id}`);
      const statuses = listAnswers((body as { chat: Chat }).chat).map(({ status }) => status);
      return statuses.length > 0 && statuses.every((status) => status !== "running");
    });
  }

  /** A repeated request sends another text, because the first one may have been sent too. */
  async #send(chatId: string, getText: () => string): Promise<void> {
    const { balancer } = this.#options;
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        const reply = await balancer
          .pick()
          .requestJson(`/api/chats/${chatId}/send`, { text: getText() });
        const { status, body } = reply;
        if (status < 300) this.acceptedTaskIds.add((body as { task_id: string }).task_id);
        // 409: an earlier request was carried out, and its reply was lost.
        if (status < 300 || (isRepeated && status === 409)) return;
        if (!mustRepeat(reply))
          throw new ChatRejectedError(`a message was rejected: ${status} ${JSON.stringify(body)}`);
      } catch (error) {
        if (error instanceof ChatRejectedError) throw error;
      }
      if (performance.now() > this.#deadline)
        throw new Error(`no process accepted a message in ${chatId}`);
      await sleep(pollMs);
    }
  }

  async #waitUntil(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await check())) {
      if (performance.now() > this.#deadline) throw new Error(`lost: not in time: ${what}`);
      await sleep(pollMs);
    }
  }

  #newEntry(): string {
    this.#entryCount += 1;
    return `entry-${this.#entryCount}`;
  }
}

class ChatRejectedError extends Error {}

/** The tool that must not run twice in a task of this kind. */
export function getTool(kind: TaskKind): LedgerTool | undefined {
  const definition = taskKinds[kind];
  return "tool" in definition ? definition.tool : undefined;
}

export function listAnswers(chat: Chat): AnswerVersion[] {
  return Object.values(chat.nodes).flatMap((node) => (node.kind === "answer" ? node.versions : []));
}

function readOutcome(taskId: string, followers: readonly ClusterFollower[]): TaskOutcome {
  const [follower] = followers;
  const view = follower?.view(taskId);
  const approvals = follower?.tree(taskId)?.approvals ?? [];
  if (view === undefined || !hasEnded(view.status)) throw new Error(`${taskId} has not ended`);
  const items = Object.values(follower?.tree(taskId)?.tasks ?? {}).flatMap(({ output }) => output);
  const { runs, reason } = expectRuns(items, approvals);
  return {
    status: view.status,
    hashes: followers.map((follower) => follower.stateHash(taskId)),
    expectedRuns: runs,
    reason,
  };
}

/** Returns how often the tool must have run: exactly once or not at all, unless it was stopped while it ran. */
function expectRuns(
  items: TaskState["output"],
  approvals: readonly TaskApproval[],
): { runs: Range; reason: string } {
  const findDecision = (wanted: TaskApproval["kind"]) =>
    approvals.find(({ kind }) => kind === wanted)?.resolution?.decision;
  const [once, never] = [
    { min: 1, max: 1 },
    { min: 0, max: 0 },
  ];
  if (findDecision("call") === "deny") return { runs: never, reason: "denied" };
  // The user has looked into the ledger.
  const reconciled = findDecision("reconcile");
  if (reconciled === "approve") return { runs: once, reason: "interrupted after it ran" };
  if (reconciled !== undefined) return { runs: never, reason: "interrupted before it ran" };
  const canceledCall = items.find(
    (item) =>
      item.type === "tool_call" && item.name.startsWith("ledger__") && item.outcome === "canceled",
  );
  if (canceledCall?.type !== "tool_call") return { runs: once, reason: "not interrupted" };
  const result = items.findLast(
    (item) => item.type === "tool_result" && item.call_id === canceledCall.call_id,
  );
  return JSON.stringify(result).includes("was not run")
    ? { runs: never, reason: "canceled before it started" }
    : { runs: { min: 0, max: 1 }, reason: "canceled while it ran" };
}
