import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded } from "@deltawire/tasks";
import type {
  ApprovalDecision,
  StreamEvent,
  TaskApproval,
  TaskEvent,
  TaskTree,
} from "@deltawire/tasks";
import type { Counts } from "./counter.ts";
import { createFollower } from "./follower.ts";
import { steering } from "./upstream.ts";

/** What a client receives of a task: an event, or a snapshot that replaces the events up to one of them. */
export type ReceivedEvent = TaskEvent | Extract<StreamEvent, { type: "task.snapshot" }>;

/** When the user decides: as soon as an approval is requested, or when the task waits for it. */
export type AnswerTiming = "immediately" | "when it waits";

/** Whether the user decides the approval of the sub-agent "helper", or cancels it instead. */
export type Scenario = "all answered" | "helper canceled";

export interface TestUserOptions {
  /** The server's URL, unless it is down. */
  getServerUrl: () => string | undefined;
  /** Reads how often each tool ran, to report whether an interrupted call was carried out. */
  readCounts: () => Promise<Counts>;
  answerTiming: () => AnswerTiming;
  scenario: Scenario;
  /** Called with a description of each reply that the server must not send. */
  onFault: (fault: string) => void;
}

interface ScriptedDecision {
  decision: ApprovalDecision;
  arguments?: object;
  scope?: "session";
  reason?: string;
  replacement?: string;
}

/** Decisions by kind of approval and tool. All others are approved. */
const decisions: Record<string, ScriptedDecision> = {
  "call of pay": { decision: "approve", arguments: { amount: 4 } },
  "call of note": { decision: "approve", scope: "session" },
  "call of wipe": { decision: "deny", reason: "not today" },
  "result of peek": { decision: "deny", reason: "that is private" },
  "result of quote": { decision: "redact", replacement: "(left out)" },
};

const retryMs = 10;

/**
 * A scripted user. Starts a task, follows it from the start, sends input before the first decision, and decides all
 * approvals. Repeats requests that fail because the server is down.
 */
export class TestUser {
  readonly #options: TestUserOptions;
  readonly #store;
  readonly #attemptedIds = new Set<string>();
  readonly #answeredIds = new Set<string>();
  #hasSentInput = false;
  #hasCanceled = false;
  taskId = "";
  /** Every received event, in order. */
  readonly receivedEvents: ReceivedEvent[] = [];
  /** Decisions that the server has acknowledged. */
  readonly acknowledgedDecisions: { approval_id: string; decision: ApprovalDecision }[] = [];
  /** Ids of the tasks that the server has reported as canceled. */
  readonly canceledTaskIds: string[] = [];

  constructor(options: TestUserOptions) {
    this.#options = options;
    this.#store = createFollower(options.getServerUrl, (event) => {
      if ("sequence_number" in event || event.type === "task.snapshot")
        this.receivedEvents.push(event);
    });
  }

  get tree(): TaskTree | undefined {
    return this.#store.tree(this.taskId);
  }

  get hasReceivedEnd(): boolean {
    return this.#store.connection(this.taskId)?.state === "ended";
  }

  /** Resolves when the client has received the end of the task, or when the signal is aborted. */
  async completeTask(run: string, signal: AbortSignal): Promise<void> {
    await this.#start(run, signal);
    while (!this.hasReceivedEnd && !signal.aborted) {
      const { state, reason } = this.#store.connection(this.taskId) ?? {};
      if (state === "rejected") return this.#options.onFault(`the client was rejected: ${reason}`);
      await this.#answerQuestions();
      await sleep(retryMs / 2);
    }
  }

  close(): void {
    this.#store.close();
  }

  async #start(run: string, signal: AbortSignal): Promise<void> {
    const body = { agent: "main", input: "Go." };
    while (!signal.aborted) {
      const reply = await this.#post("/api/tasks", body, { "idempotency-key": run });
      if (reply?.status === 201) {
        this.taskId = (reply.body as { task_id: string }).task_id;
        return this.#store.follow(this.taskId, { after: -1 });
      }
      if (reply !== undefined)
        this.#options.onFault(`the start was rejected: ${JSON.stringify(reply)}`);
      await sleep(retryMs);
    }
  }

  async #answerQuestions(): Promise<void> {
    const { tree } = this;
    if (tree === undefined) return;
    const { scenario, answerTiming } = this.#options;
    const isWaiting = tree.tasks[this.taskId]?.status === "input_required";
    const willCancel = scenario === "helper canceled" && !this.#hasCanceled;
    if (!isWaiting && (willCancel || answerTiming() === "when it waits")) return;
    const pending = tree.approvals.filter(
      ({ approval_id, status }) => status === "pending" && !this.#answeredIds.has(approval_id),
    );
    if (pending.length === 0) return;
    if (!this.#hasSentInput) return this.#sendInput(tree);
    if (willCancel) return this.#cancelHelper(tree);
    for (const approval of pending) await this.#answer(approval, tree);
  }

  async #sendInput(tree: TaskTree): Promise<void> {
    // The reply to an earlier attempt may have been lost with the server.
    this.#hasSentInput = (tree.tasks[this.taskId]?.inputs.length ?? 0) > 0;
    if (this.#hasSentInput) return;
    const body = { input: steering, delivery: "steer" };
    const reply = await this.#post(`/api/tasks/${this.taskId}/input`, body);
    this.#hasSentInput = reply?.status === 200;
    if (!this.#hasSentInput) this.#reportUnlessNotRunning("the input", reply);
  }

  async #cancelHelper(tree: TaskTree): Promise<void> {
    const helper = Object.values(tree.tasks).find(({ task_id }) => task_id !== this.taskId);
    if (helper === undefined) return;
    this.#hasCanceled = hasEnded(helper.status);
    if (this.#hasCanceled) return;
    const { task_id } = helper;
    const reply = await this.#post(`/api/tasks/${task_id}/cancel`, { reason: "no longer wanted" });
    const isCanceled = (reply?.body as { status?: string } | undefined)?.status === "canceled";
    if (isCanceled) this.canceledTaskIds.push(task_id);
    else this.#reportUnlessNotRunning("the cancellation", reply);
  }

  /** Reports a rejected request, unless the restarted server has not resumed the task yet. */
  #reportUnlessNotRunning(request: string, reply: Reply | undefined): void {
    if (reply === undefined || isNotRunning(reply)) return;
    this.#options.onFault(`${request} was rejected: ${JSON.stringify(reply)}`);
  }

  async #answer(approval: TaskApproval, tree: TaskTree): Promise<void> {
    const { approval_id } = approval;
    const scriptedDecision = await this.#chooseDecision(approval, tree);
    const { decision } = scriptedDecision;
    const reply = await this.#post(`/api/approvals/${approval_id}`, scriptedDecision);
    const wasAttempted = this.#attemptedIds.has(approval_id);
    this.#attemptedIds.add(approval_id);
    if (reply === undefined) return;
    if (isNotRunning(reply)) return;
    const { approval: decidedApproval } = reply.body as { approval?: TaskApproval };
    this.#answeredIds.add(approval_id);
    // The reply to an earlier attempt was lost with the server.
    const isOurs = wasAttempted && decidedApproval?.resolution?.decision === decision;
    if (reply.status === 200 || isOurs) this.acknowledgedDecisions.push({ approval_id, decision });
    else this.#options.onFault(`a decision was rejected: ${JSON.stringify(reply)}`);
  }

  async #chooseDecision(
    { kind, tool = "", call_id, task_id }: TaskApproval,
    tree: TaskTree,
  ): Promise<ScriptedDecision> {
    if (kind !== "reconcile") return decisions[`${kind} of ${tool}`] ?? { decision: "approve" };
    const execution = tree.tasks[task_id]?.executions.findLast(
      (candidate) => candidate.call_id === call_id,
    );
    const counts = await this.#options.readCounts();
    const hasRun = counts[tool]?.[execution?.idempotency_key ?? ""] !== undefined;
    return { decision: hasRun ? "approve" : "deny" };
  }

  /** Returns undefined if the server is down, or went down before it replied. */
  async #post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Reply | undefined> {
    const url = this.#options.getServerUrl();
    if (url === undefined) return undefined;
    try {
      const reply = await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: reply.status, body: await reply.json() };
    } catch {
      return undefined;
    }
  }
}

interface Reply {
  status: number;
  body: unknown;
}

function isNotRunning({ status, body }: Reply): boolean {
  const { error } = body as { error?: { code: string } };
  return status === 503 && error?.code === "task_not_running";
}
