import type {
  Approval,
  JsonObject,
  Limits,
  ReferencePool,
  TaskApproval,
  TaskWriter,
  ToolCallItem,
  Usage,
} from "@deltawire/tasks";
import { Activity } from "./activity.ts";
import type { Agent } from "../agent.ts";
import { answerCall } from "../calls/answer-call.ts";
import { askModel } from "../model/ask-model.ts";
import { callAfter } from "./call-after.ts";
import { endTask, type Ending } from "./end-task.ts";
import { messageOf } from "../event-text.ts";
import type { Executed } from "../calls/executed.ts";
import type { HeldResult } from "../approvals/held-result.ts";
import { Lanes } from "./lanes.ts";
import { ModelError } from "../model.ts";
import { nextStep, spoken, type Budget } from "./next-step.ts";
import { reachedLimit, type LimitName, type Reached } from "./reached-limit.ts";
import type { HelpWanted } from "./own-tools.ts";
import type { PrivateItem } from "../log/private-parts.ts";
import { refuseCall } from "../calls/refuse-call.ts";
import { RuntimeError } from "../runtime-error.ts";
import { Stopped, stoppedBy, throwIfStopped, type Stop } from "./stop.ts";
import { askAgent } from "./sub-agent.ts";
import type { TaskRequest } from "../task-request.ts";
import { toolsetOf, type Toolset } from "./toolset.ts";
import type { TreeRun } from "./tree-run.ts";
import { unreachable } from "../unreachable.ts";
import { addUsage, treeUsage } from "./usage.ts";

/** One agent at work on one task: a root task, or the task of a sub-agent. */
export class TaskRun {
  readonly tree: TreeRun;
  readonly task: TaskWriter;
  readonly agent: Agent;
  /** What the task was asked with. A sub-agent is asked nothing but its words. */
  readonly asked: Pick<TaskRequest, "preamble" | "instructions" | "options" | "chat_id">;
  readonly toolset: Toolset;
  readonly pool: ReferencePool;
  readonly activity: Activity;
  readonly depth: number;
  /** That a parameter of its requests cannot be said to its model. */
  hasToldDropped = false;
  readonly #controller = new AbortController();
  /** Resolves when the task has ended, or has been left to another process. */
  readonly ended: Promise<void>;
  #hasEnded: () => void = () => undefined;
  readonly #isOver = new AbortController();
  #clearTimer: (() => void) | undefined;
  #finishing = false;

  constructor(tree: TreeRun, task: TaskWriter, agent: Agent, above?: { signal: AbortSignal }) {
    this.tree = tree;
    this.task = task;
    this.agent = agent;
    const { depth } = task.state.info;
    this.depth = depth;
    this.asked = tree.privateParts.request(task.taskId);
    this.toolset = toolsetOf(agent, this.asked);
    this.pool = tree.poolOf(task.state);
    this.activity = new Activity(task, (id) => tree.decisions.approval(id), this.signal);
    this.ended = new Promise((resolve) => (this.#hasEnded = resolve));
    if (above === undefined) return;
    const stop = (): void => this.#controller.abort(above.signal.reason);
    if (above.signal.aborted) stop();
    else above.signal.addEventListener("abort", stop, { once: true, signal: this.#isOver.signal });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** As they were decided when the task began. */
  get limits(): Limits {
    return this.task.state.info.limits ?? this.agent.limits;
  }

  /** The loop: what is to be done next follows from the items that there are. Answers when the task has ended. */
  async run(): Promise<void> {
    this.tree.tasks.set(this.task.taskId, this);
    try {
      if (this.#begin() === "again") await this.tree.journal.settled();
      for (;;) {
        this.tree.mayBegin(this.signal);
        const step = nextStep(this.task.state, this.#budget());
        switch (step.is) {
          case "ask the model":
            if (!step.tools && !this.#finishing) this.#finish(step.limit);
            await askModel(this, step.tools);
            break;
          case "answer calls":
            await this.#answer(step.calls);
            break;
          case "refuse calls":
            this.#refuse(step.calls, step.limit?.name);
            break;
          case "ask the user":
            await this.#askToGoOn(step.limit);
            break;
          case "complete":
            this.task.completed(this.task.state.usage);
            return;
          default:
            unreachable(step);
        }
      }
    } catch (error) {
      this.#end(error);
    } finally {
      this.#clearTimer?.();
      this.#isOver.abort();
      this.tree.tasks.delete(this.task.taskId);
      this.#hasEnded();
    }
  }

  stop(stop: Stop): void {
    this.#controller.abort(new Stopped(stop));
  }

  approvals(): readonly TaskApproval[] {
    return this.tree.state.approvals.filter(({ task_id }) => task_id === this.task.taskId);
  }

  /** Asks a person, unless one has been asked before, and waits. `key` is what waits: a call, or the task. */
  async ask(
    key: string,
    question: Omit<Approval, "approval_id" | "expires_at">,
    held?: HeldResult,
  ): Promise<TaskApproval> {
    const { kind, call_id } = question;
    // The user may be asked again at every limit; of a call a question is asked once.
    const asked = this.approvals().findLast(
      (one) =>
        one.kind === kind &&
        one.call_id === call_id &&
        (call_id !== undefined || one.status === "pending"),
    );
    const id = asked?.approval_id ?? this.#request(question, held);
    this.tree.atWork.delete(key);
    await this.tree.decisions.wait(id, {
      activity: this.activity,
      key,
      task: this.task,
      signal: this.signal,
    });
    const approval = this.tree.decisions.approval(id);
    if (approval === undefined) throw new TypeError(`approval ${id} is not in the log`);
    // An abort has stopped the whole tree.
    throwIfStopped(this.signal);
    return approval;
  }

  heldResult(approvalId: string): HeldResult {
    return this.tree.privateParts.approval(approvalId) as unknown as HeldResult;
  }

  askAgent(call: ToolCallItem, wanted: HelpWanted): Promise<Executed> {
    return askAgent(this, call, wanted, (task, helper) =>
      new TaskRun(this.tree, task, helper, this).run(),
    );
  }

  /** Counts what the model was used for. */
  used(usage: Usage): void {
    const own = addUsage(this.task.state.usage, usage);
    this.task.usageUpdated(own, treeUsage(this.tree.state, this.task.taskId, own));
  }

  /** Where the whole of a result is that was cut for the model. */
  wholeOf(callId: string): PrivateItem["whole"] {
    const item = this.task.state.output.find(
      (each) => each.type === "tool_result" && each.call_id === callId,
    );
    return item === undefined ? undefined : this.tree.privateParts.item(item.id).whole;
  }

  /**
   * The first thing that is said, by this process or by the one that takes over: then the log may be one that cannot be
   * written, and the model is not to be asked in vain.
   */
  #begin(): "anew" | "again" {
    const { status, epoch } = this.task.state;
    this.#limitTime();
    if (status === "created") {
      this.task.working();
      return "anew";
    }
    this.task.working({ recovered: true, epoch: epoch + 1 });
    this.#retractRound();
    return "again";
  }

  #limitTime(): void {
    const { seconds } = this.limits;
    if (seconds === undefined) return;
    const began = Date.parse(this.task.state.info.created_at);
    const left = began + seconds * 1000 - this.tree.options.now();
    const reason =
      this.asked.chat_id === undefined
        ? `the task took more than ${seconds} s`
        : `the answer took longer than its time limit of ${seconds} s; set another in the settings of the chat (limits.seconds)`;
    const expire = (): void => this.stop({ why: "expired", reason });
    if (left <= 0) expire();
    else this.#clearTimer = callAfter(left, expire);
  }

  /** What the model had said of an answer that did not come to its end is taken back: it is asked again. */
  #retractRound(): void {
    const { state } = this.task;
    if (state.round === 0 || state.round_done) return;
    for (const { id } of spoken(state, state.round_started_at_index))
      this.task.retract(id, "interrupted");
  }

  #budget(): Budget {
    const { state } = this.task;
    const answers = this.approvals().filter(({ kind }) => kind === "limit");
    const refused = answers.some(
      ({ status, resolution }) => status === "expired" || resolution?.decision === "deny",
    );
    return {
      reached: reachedLimit(
        state,
        treeUsage(this.tree.state, this.task.taskId),
        this.limits,
        answers,
      ),
      asks: this.agent.atLimit === "ask" && !refused,
      finishing: this.#finishing,
    };
  }

  async #answer(calls: readonly ToolCallItem[]): Promise<void> {
    // In the order of the calls, whichever is ready first.
    for (const { call_id } of calls)
      if (!this.task.hasOpenResult(call_id)) this.task.toolResult(call_id);
    const lanes = new Lanes();
    const answers = await Promise.allSettled(calls.map((call) => answerCall(this, call, lanes)));
    for (const one of answers) if (one.status === "rejected") throw one.reason;
  }

  /** The model is asked once more, without tools, and its answer ends the task. */
  #finish(limit: Reached | undefined): void {
    this.#finishing = true;
    if (limit === undefined || this.toolset.tools.size === 0) return;
    const unit = limit.limit === 1 ? limit.name.replace(/s$/, "") : limit.name;
    this.task.warning(
      "limit_reached",
      `the limit of ${limit.limit} ${unit} is reached: the model answers without more tool calls`,
    );
  }

  #refuse(calls: readonly ToolCallItem[], limit: LimitName | undefined): void {
    const reason = `The call was not run: the limit of ${limit ?? "rounds"} is reached. Answer with what you have.`;
    for (const call of calls) refuseCall(this.task, call, "incomplete", reason);
  }

  async #askToGoOn({ name, limit, used }: Reached): Promise<void> {
    await this.ask("limit", {
      kind: "limit",
      choices: ["approve", "deny", "abort"],
      question: `The limit of ${limit} ${name} is reached: ${used} used. Approve: the agent may use as much again from here. Deny: it answers with what it has.`,
      limit_name: name,
      limit,
      used,
    });
    this.activity.delete("limit");
  }

  #end(error: unknown): void {
    const stopped = this.signal.aborted ? stoppedBy(this.signal) : error;
    const stop: Stop | undefined = stopped instanceof Stopped ? stopped.stop : undefined;
    // Another process goes on from what is in the log; what was cancelled before that stays so.
    if (stop?.why === "left" || this.tree.hasFailed) return;
    if (stop === undefined && this.tree.isLeft) return;
    endTask(this.tree.writer, this.task.taskId, this.#ending(stop, error));
    if (stop === undefined && !(error instanceof ModelError || error instanceof RuntimeError))
      this.tree.options.onFailure(`task ${this.task.taskId} failed`, error);
  }

  #request(question: Omit<Approval, "approval_id" | "expires_at">, held?: HeldResult): string {
    const id = this.tree.options.newId("apr");
    const { approvalSeconds } = this.agent;
    const expires =
      approvalSeconds === undefined
        ? {}
        : { expires_at: new Date(this.tree.options.now() + approvalSeconds * 1000).toISOString() };
    this.task.approvalRequested(
      { approval_id: id, ...question, ...expires },
      held && (JSON.parse(JSON.stringify(held)) as JsonObject),
    );
    const call = this.task.state.output.find(
      (item) => item.type === "tool_call" && item.call_id === question.call_id,
    );
    if (call !== undefined) this.task.update(call.id, { status: "awaiting_approval" });
    return id;
  }

  #ending(stop: Exclude<Stop, { why: "left" }> | undefined, error: unknown): Ending {
    if (stop?.why === "expired") return { is: "expired", reason: stop.reason };
    if (stop !== undefined) {
      const { by, reason } = stop;
      return { is: "canceled", by, ...(reason === undefined ? {} : { reason }) };
    }
    const known = error instanceof ModelError || error instanceof RuntimeError;
    const code = known ? error.code : "internal_error";
    const retryable = error instanceof ModelError && error.retryable;
    return { is: "failed", error: { code, message: this.tree.told(messageOf(error)), retryable } };
  }
}
