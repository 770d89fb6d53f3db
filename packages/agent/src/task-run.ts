import type {
  Approval,
  Grant,
  JsonObject,
  ReferencePool,
  TaskApproval,
  TaskWriter,
  ToolCallItem,
} from "@deltawire/tasks";
import { Activity } from "./activity.ts";
import type { Agent } from "./agent.ts";
import { answerCall } from "./answer-call.ts";
import { askModel } from "./ask-model.ts";
import { callAfter } from "./call-after.ts";
import { endTask, type Ending } from "./end-task.ts";
import type { HeldResult } from "./held-result.ts";
import { Lanes } from "./lanes.ts";
import type { ItemMemory } from "./memory.ts";
import { ModelError } from "./model.ts";
import { nextStep, reachedLimit, spoken, type Budget, type LimitName } from "./next-step.ts";
import type { HelpWanted } from "./own-tools.ts";
import { refuseCall } from "./refuse-call.ts";
import { brief, messageOf } from "./run-tool.ts";
import { RuntimeError } from "./runtime-error.ts";
import { Stopped, throwIfStopped, type Stop } from "./stop.ts";
import { askAgent, type Helped } from "./sub-agent.ts";
import { toolsetOf, type Toolset } from "./toolset.ts";
import type { TreeRun } from "./tree-run.ts";
import { unreachable } from "./unreachable.ts";
import { treeUsage } from "./usage.ts";

/** What the parts of a run know of it. */
export interface TaskContext {
  readonly tree: TreeRun;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly toolset: Toolset;
  readonly pool: ReferencePool;
  readonly activity: Activity;
  readonly signal: AbortSignal;
  readonly depth: number;
  approvals(): readonly TaskApproval[];
  /** Asks a person, unless one has been asked before, and waits. `key` is what waits: a call, or the task. */
  ask(
    key: string,
    question: Omit<Approval, "approval_id" | "expires_at">,
    held?: HeldResult,
  ): Promise<TaskApproval>;
  heldResult(approvalId: string): HeldResult;
  isGranted(tool: string, argsHash: string): Promise<boolean>;
  grant(grant: Grant): Promise<void>;
  askAgent(call: ToolCallItem, wanted: HelpWanted): Promise<Helped>;
  /** Where the whole of a result is that was cut for the model. */
  wholeOf(callId: string): ItemMemory["whole"];
}

/** One agent at work on one task: a root task, or the task of a sub-agent. */
export class TaskRun implements TaskContext {
  readonly tree: TreeRun;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly toolset: Toolset;
  readonly pool: ReferencePool;
  readonly activity: Activity;
  readonly depth: number;
  readonly #controller = new AbortController();
  /** Resolves when the task has ended, or has been left to another process. */
  readonly ended: Promise<void>;
  #hasEnded: () => void = () => undefined;
  #clearTimer: (() => void) | undefined;
  #finishing = false;

  constructor(tree: TreeRun, task: TaskWriter, agent: Agent, above?: { signal: AbortSignal }) {
    this.tree = tree;
    this.task = task;
    this.agent = agent;
    const { depth } = task.state.info;
    this.depth = depth;
    const { instructions } = tree.memory.request(task.taskId);
    this.toolset = toolsetOf(agent, typeof instructions === "string" ? instructions : undefined);
    this.pool = tree.poolOf(task.state);
    this.activity = new Activity(task, (id) => tree.approval(id), this.signal);
    this.ended = new Promise((resolve) => (this.#hasEnded = resolve));
    if (above === undefined) return;
    const stop = (): void => this.#controller.abort(above.signal.reason);
    if (above.signal.aborted) stop();
    else above.signal.addEventListener("abort", stop, { once: true, signal: this.signal });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The loop: what is to be done next follows from the items that there are. Answers when the task has ended. */
  async run(): Promise<void> {
    this.tree.tasks.set(this.task.taskId, this);
    try {
      this.#begin();
      for (;;) {
        this.tree.mayBegin(this.signal);
        const step = nextStep(this.task.state, this.#budget());
        switch (step.is) {
          case "ask the model":
            this.#finishing ||= !step.tools;
            await askModel(this, step.tools);
            break;
          case "answer calls":
            await this.#answer(step.calls);
            break;
          case "refuse calls":
            this.#refuse(step.calls, step.limit);
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
    await this.tree.decided(id, {
      activity: this.activity,
      key,
      task: this.task,
      signal: this.signal,
    });
    const approval = this.tree.approval(id);
    if (approval === undefined) throw new TypeError(`approval ${id} is not in the log`);
    // An abort has stopped the whole tree.
    throwIfStopped(this.signal);
    return approval;
  }

  heldResult(approvalId: string): HeldResult {
    return this.tree.memory.approval(approvalId) as unknown as HeldResult;
  }

  async isGranted(tool: string, argsHash: string): Promise<boolean> {
    const grants = await this.tree.grants();
    return grants.some(
      (grant) =>
        grant.tool === tool && (grant.args_hash === undefined || grant.args_hash === argsHash),
    );
  }

  grant(grant: Grant): Promise<void> {
    return this.tree.grant(grant);
  }

  askAgent(call: ToolCallItem, wanted: HelpWanted): Promise<Helped> {
    return askAgent(this, call, wanted, (task, helper) =>
      new TaskRun(this.tree, task, helper, this).run(),
    );
  }

  wholeOf(callId: string): ItemMemory["whole"] {
    const item = this.task.state.output.find(
      (each) => each.type === "tool_result" && each.call_id === callId,
    );
    return item === undefined ? undefined : this.tree.memory.item(item.id).whole;
  }

  /** The first thing that is said, by this process or by the one that takes over. */
  #begin(): void {
    const { status, epoch, info } = this.task.state;
    if (status === "created") this.task.working();
    else {
      this.task.working({ recovered: true, epoch: epoch + 1 });
      this.#retractRound();
    }
    const { seconds } = { ...this.agent.limits, ...info.limits };
    if (seconds === undefined) return;
    const left = Date.parse(info.created_at) + seconds * 1000 - this.tree.now();
    const expire = (): void =>
      this.stop({ why: "expired", reason: `the task took more than ${seconds} s` });
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
    const limits = { ...this.agent.limits, ...state.info.limits };
    const answers = this.approvals().filter(({ kind }) => kind === "limit");
    const extensions = answers.filter(
      ({ resolution }) => resolution?.decision === "approve",
    ).length;
    const refused = answers.some(
      ({ status, resolution }) => status === "expired" || resolution?.decision === "deny",
    );
    return {
      reached: reachedLimit(
        state,
        treeUsage(this.tree.state, this.task.taskId),
        limits,
        extensions,
      ),
      asks: this.agent.atLimit === "ask" && !refused,
      finishing: this.#finishing,
    };
  }

  async #answer(calls: readonly ToolCallItem[]): Promise<void> {
    // In the order of the calls, whichever is ready first.
    for (const { call_id } of calls)
      if (this.task.openResult(call_id) === undefined) this.task.toolResult(call_id);
    const lanes = new Lanes();
    const answers = await Promise.allSettled(calls.map((call) => answerCall(this, call, lanes)));
    for (const one of answers) if (one.status === "rejected") throw one.reason;
  }

  #refuse(calls: readonly ToolCallItem[], limit: LimitName): void {
    const reason = `The call was not run: the limit of ${limit} is reached. Answer with what you have.`;
    for (const call of calls) refuseCall(this.task, call, "incomplete", reason);
  }

  async #askToGoOn(limit: LimitName): Promise<void> {
    await this.ask("limit", {
      kind: "limit",
      choices: ["approve", "deny", "abort"],
      question: `The limit of ${limit} is reached. Approve: the agent may use as much again. Deny: it answers with what it has.`,
    });
    this.activity.delete("limit");
  }

  #end(error: unknown): void {
    const stop: Stop | undefined = error instanceof Stopped ? error.stop : undefined;
    // Another process goes on from what is in the log.
    if (stop?.why === "left" || this.tree.isLeft) return;
    endTask(this.tree.writer, this.task.taskId, endingOf(stop, error));
    if (stop === undefined && !(error instanceof ModelError || error instanceof RuntimeError))
      this.tree.onFailure(`task ${this.task.taskId} failed`, error);
  }

  #request(question: Omit<Approval, "approval_id" | "expires_at">, held?: HeldResult): string {
    const id = this.tree.newId("apr");
    const { approvalSeconds } = this.agent;
    const expires =
      approvalSeconds === undefined
        ? {}
        : { expires_at: new Date(this.tree.now() + approvalSeconds * 1000).toISOString() };
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
}

function endingOf(stop: Exclude<Stop, { why: "left" }> | undefined, error: unknown): Ending {
  if (stop?.why === "expired") return { is: "expired", reason: stop.reason };
  if (stop !== undefined) {
    const { by, reason } = stop;
    return { is: "canceled", by, ...(reason === undefined ? {} : { reason }) };
  }
  const known = error instanceof ModelError || error instanceof RuntimeError;
  const code = known ? error.code : "internal_error";
  const retryable = error instanceof ModelError && error.retryable;
  return { is: "failed", error: { code, message: brief(messageOf(error)), retryable } };
}
