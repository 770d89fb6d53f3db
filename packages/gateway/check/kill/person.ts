import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded } from "@deltawire/tasks";
import type { Decision, StreamEvent, TaskApproval, TaskEvent, TaskTree } from "@deltawire/tasks";
import type { Counts } from "./counter.ts";
import { follower } from "./follower.ts";
import { steering } from "./upstream.ts";

/** What tells a client of the task: its events, or all of them up to one in one piece. */
export type Heard = TaskEvent | Extract<StreamEvent, { type: "task.snapshot" }>;

/** When a person answers: as soon as there is a question, or when nothing goes on without an answer. */
export type Patience = "at once" | "when it waits";

/** Whether the helper's question is answered, or the helper cancelled instead, first of all. */
export type Plot = "all answered" | "helper canceled";

export interface PersonOptions {
  /** Where the server is, unless it is down. */
  address: () => string | undefined;
  /** What tools have done, for the question whether one has. */
  counts: () => Promise<Counts>;
  patience: () => Patience;
  plot: Plot;
  /** Told what the server must never say. */
  onFault: (fault: string) => void;
}

interface Word {
  decision: Decision;
  arguments?: object;
  scope?: "session";
  reason?: string;
  replacement?: string;
}

/** What it says to the questions about each tool; otherwise it agrees. */
const words: Record<string, Word> = {
  "call of pay": { decision: "approve", arguments: { amount: 4 } },
  "call of note": { decision: "approve", scope: "session" },
  "call of wipe": { decision: "deny", reason: "not today" },
  "result of peek": { decision: "deny", reason: "that is private" },
  "result of quote": { decision: "redact", replacement: "(left out)" },
};

const againMs = 10;

/**
 * Starts a task, follows it from its beginning, says a word before it answers anything, and answers its questions,
 * through whatever befalls the server.
 */
export class Person {
  readonly #options: PersonOptions;
  readonly #store;
  readonly #tried = new Set<string>();
  readonly #answered = new Set<string>();
  #hasSpoken = false;
  #hasCanceled = false;
  taskId = "";
  /** Every event that came, in the order in which it came. */
  readonly heard: Heard[] = [];
  /** What the server has acknowledged. */
  readonly decided: { approval_id: string; decision: Decision }[] = [];
  /** Tasks of which the server has said that they are cancelled. */
  readonly canceled: string[] = [];

  constructor(options: PersonOptions) {
    this.#options = options;
    this.#store = follower(options.address, (event) => {
      if ("sequence_number" in event || event.type === "task.snapshot") this.heard.push(event);
    });
  }

  get tree(): TaskTree | undefined {
    return this.#store.tree(this.taskId);
  }

  get hasSeenTheEnd(): boolean {
    return this.#store.connection(this.taskId)?.state === "ended";
  }

  /** Resolves when it has seen the end of the task, or when it is told to stop. */
  async see(run: string, signal: AbortSignal): Promise<void> {
    await this.#start(run, signal);
    while (!this.hasSeenTheEnd && !signal.aborted) {
      const { state, reason } = this.#store.connection(this.taskId) ?? {};
      if (state === "refused") return this.#options.onFault(`the client was refused: ${reason}`);
      await this.#answerQuestions();
      await sleep(againMs / 2);
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
        this.#options.onFault(`the start was refused: ${JSON.stringify(reply)}`);
      await sleep(againMs);
    }
  }

  async #answerQuestions(): Promise<void> {
    const { tree } = this;
    if (tree === undefined) return;
    const { plot, patience } = this.#options;
    const waits = tree.tasks[this.taskId]?.status === "input_required";
    const cancels = plot === "helper canceled" && !this.#hasCanceled;
    if (!waits && (cancels || patience() === "when it waits")) return;
    const pending = tree.approvals.filter(
      ({ approval_id, status }) => status === "pending" && !this.#answered.has(approval_id),
    );
    if (pending.length === 0) return;
    if (!this.#hasSpoken) return this.#speak(tree);
    if (cancels) return this.#cancelHelper(tree);
    for (const approval of pending) await this.#answer(approval, tree);
  }

  async #speak(tree: TaskTree): Promise<void> {
    // The answer to an earlier try may have gone down with the server.
    this.#hasSpoken = (tree.tasks[this.taskId]?.inputs.length ?? 0) > 0;
    if (this.#hasSpoken) return;
    const body = { input: steering, delivery: "steer" };
    const reply = await this.#post(`/api/tasks/${this.taskId}/input`, body);
    this.#hasSpoken = reply?.status === 200;
    if (!this.#hasSpoken) this.#complainUnlessItWaits("a word", reply);
  }

  async #cancelHelper(tree: TaskTree): Promise<void> {
    const helper = Object.values(tree.tasks).find(({ task_id }) => task_id !== this.taskId);
    if (helper === undefined) return;
    this.#hasCanceled = hasEnded(helper.status);
    if (this.#hasCanceled) return;
    const { task_id } = helper;
    const reply = await this.#post(`/api/tasks/${task_id}/cancel`, { reason: "no longer wanted" });
    const isCanceled = (reply?.body as { status?: string } | undefined)?.status === "canceled";
    if (isCanceled) this.canceled.push(task_id);
    else this.#complainUnlessItWaits("a cancel", reply);
  }

  /** A server that has just been started may not have taken the task up yet. */
  #complainUnlessItWaits(what: string, reply: Reply | undefined): void {
    if (reply === undefined || isNotRunning(reply)) return;
    this.#options.onFault(`${what} was refused: ${JSON.stringify(reply)}`);
  }

  async #answer(approval: TaskApproval, tree: TaskTree): Promise<void> {
    const { approval_id } = approval;
    const word = await this.#wordOn(approval, tree);
    const { decision } = word;
    const reply = await this.#post(`/api/approvals/${approval_id}`, word);
    const wasTried = this.#tried.has(approval_id);
    this.#tried.add(approval_id);
    if (reply === undefined) return;
    if (isNotRunning(reply)) return;
    const { approval: winner } = reply.body as { approval?: TaskApproval };
    this.#answered.add(approval_id);
    // The answer to an earlier try went down with the server.
    const isOurs = wasTried && winner?.resolution?.decision === decision;
    if (reply.status === 200 || isOurs) this.decided.push({ approval_id, decision });
    else this.#options.onFault(`a decision was refused: ${JSON.stringify(reply)}`);
  }

  async #wordOn(
    { kind, tool = "", call_id, task_id }: TaskApproval,
    tree: TaskTree,
  ): Promise<Word> {
    if (kind !== "reconcile") return words[`${kind} of ${tool}`] ?? { decision: "approve" };
    const ran = tree.tasks[task_id]?.executions.findLast((one) => one.call_id === call_id);
    const counts = await this.#options.counts();
    const hasRun = counts[tool]?.[ran?.idempotency_key ?? ""] !== undefined;
    return { decision: hasRun ? "approve" : "deny" };
  }

  /** Undefined: the server is down, or went down before it answered. */
  async #post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Reply | undefined> {
    const url = this.#options.address();
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
