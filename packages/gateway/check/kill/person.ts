import { setTimeout as sleep } from "node:timers/promises";
import type { Decision, StreamEvent, TaskApproval, TaskEvent, TaskTree } from "@deltawire/tasks";
import type { Counts } from "./counter.ts";
import { follower } from "./follower.ts";

/** What tells a client of the task: its events, or all of them up to one in one piece. */
export type Heard = TaskEvent | Extract<StreamEvent, { type: "task.snapshot" }>;

/** When a person answers: as soon as there is a question, or when nothing goes on without an answer. */
export type Patience = "at once" | "when it waits";

export interface PersonOptions {
  /** Where the server is, unless it is down. */
  address: () => string | undefined;
  /** What tools have done, for the question whether one has. */
  counts: () => Promise<Counts>;
  patience: () => Patience;
  /** Told what the server must never say. */
  onFault: (fault: string) => void;
}

const againMs = 10;

/** Starts a task, follows it from its beginning and answers its questions, through whatever befalls the server. */
export class Person {
  readonly #options: PersonOptions;
  readonly #store;
  readonly #tried = new Set<string>();
  readonly #answered = new Set<string>();
  taskId = "";
  /** Every event that came, in the order in which it came. */
  readonly heard: Heard[] = [];
  /** What the server has acknowledged. */
  readonly decided: { approval_id: string; decision: Decision }[] = [];

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
    const waits = tree.tasks[this.taskId]?.status === "input_required";
    if (!waits && this.#options.patience() === "when it waits") return;
    for (const approval of tree.approvals)
      if (approval.status === "pending" && !this.#answered.has(approval.approval_id))
        await this.#answer(approval, tree);
  }

  async #answer(approval: TaskApproval, tree: TaskTree): Promise<void> {
    const { approval_id } = approval;
    const decision = await this.#decisionOf(approval, tree);
    const reply = await this.#post(`/api/approvals/${approval_id}`, { decision });
    const wasTried = this.#tried.has(approval_id);
    this.#tried.add(approval_id);
    if (reply === undefined) return;
    const { error, approval: winner } = reply.body as {
      error?: { code: string };
      approval?: TaskApproval;
    };
    if (reply.status === 503 && error?.code === "task_not_running") return;
    this.#answered.add(approval_id);
    // The answer to an earlier try went down with the server.
    const isOurs = wasTried && winner?.resolution?.decision === decision;
    if (reply.status === 200 || isOurs) this.decided.push({ approval_id, decision });
    else this.#options.onFault(`a decision was refused: ${JSON.stringify(reply)}`);
  }

  async #decisionOf(
    { kind, tool = "", call_id, task_id }: TaskApproval,
    tree: TaskTree,
  ): Promise<Decision> {
    if (kind !== "reconcile") return "approve";
    const ran = tree.tasks[task_id]?.executions.findLast((one) => one.call_id === call_id);
    const counts = await this.#options.counts();
    return counts[tool]?.[ran?.idempotency_key ?? ""] === undefined ? "deny" : "approve";
  }

  /** Undefined: the server is down, or went down before it answered. */
  async #post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: unknown } | undefined> {
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
