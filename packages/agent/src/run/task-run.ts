import {
  assertNever,
  type TaskLimits,
  type ReferencePool,
  type TaskWriter,
  type ToolCallItem,
} from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import { getTaskApprovals, requestApproval } from "../approvals/request-approval.ts";
import { processCalls } from "../calls/process-calls.ts";
import type { CallContext } from "../calls/call-context.ts";
import { getErrorMessage } from "../event-text.ts";
import { ModelError } from "../model.ts";
import { runRound } from "../model/run-round.ts";
import { restoreReferencePool } from "../model/history-references.ts";
import type { RoundContext } from "../model/round-context.ts";
import { RuntimeError } from "../runtime-error.ts";
import { Activity } from "../task/waiting-status.ts";
import { setLongTimeout } from "../event-loop.ts";
import { endTask, type TaskEnding } from "../task/end-task.ts";
import { getUnretractedItems } from "../task/task-items.ts";
import { rejectCall } from "../task/reject-call.ts";
import { StoppedError, getStopError, type StopReason } from "../task/stop-reason.ts";
import { buildToolset, type Toolset } from "../task/toolset.ts";
import { sumTreeUsage } from "../task/usage.ts";
import { getNextStep, type LimitState } from "./next-step.ts";
import {
  findReachedLimit,
  limitLabels,
  type LimitName,
  type ReachedLimit,
} from "./reached-limit.ts";

/** The members of the task tree that a task run uses. */
type TaskRunTree = RoundContext["tree"] &
  CallContext["tree"] & {
    /** The running tasks, by id. */
    readonly tasks: Map<string, TaskRun>;
    /** True if the log could not be written. */
    readonly hasFailed: boolean;
  };

/** Runs one agent on one task: a root task, or the task of a sub-agent. */
export class TaskRun implements RoundContext, CallContext {
  readonly tree: TaskRunTree;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly request: RoundContext["request"];
  readonly toolset: Toolset;
  readonly pool: ReferencePool;
  readonly activity: Activity;
  readonly depth: number;
  hasReportedDroppedOptions = false;
  readonly #controller = new AbortController();
  /** Resolves when the task has ended or was detached, so that another process can resume it. */
  readonly ended: Promise<void>;
  #resolveEnded: () => void = () => undefined;
  readonly #endController = new AbortController();
  #clearTimer: (() => void) | undefined;
  #isFinishing = false;

  constructor(tree: TaskRunTree, task: TaskWriter, agent: Agent, parent?: { signal: AbortSignal }) {
    this.tree = tree;
    this.task = task;
    this.agent = agent;
    const { depth } = task.state.info;
    this.depth = depth;
    this.request = tree.privateRecords.request(task.taskId);
    this.toolset = buildToolset(agent, this.request);
    this.pool = restoreReferencePool(task.state, tree.privateRecords);
    this.activity = new Activity(task, (id) => tree.decisions.findApproval(id), this.signal);
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    if (parent === undefined) return;
    const stop = (): void => this.#controller.abort(parent.signal.reason);
    if (parent.signal.aborted) stop();
    else
      parent.signal.addEventListener("abort", stop, {
        once: true,
        signal: this.#endController.signal,
      });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The limits that were determined when the task was created. */
  get limits(): TaskLimits {
    return this.task.state.info.limits ?? this.agent.limits;
  }

  /** The main loop: each step is derived from the task's items. Resolves when the task has ended. */
  async run(): Promise<void> {
    this.tree.tasks.set(this.task.taskId, this);
    try {
      if (this.#start() === "resumed") await this.tree.journal.whenStored();
      for (;;) {
        this.tree.assertMayStart(this.signal);
        const step = getNextStep(this.task.state, this.#getLimitState());
        switch (step.type) {
          case "ask_model":
            if (!step.allowsToolCalls && !this.#isFinishing) this.#startFinishing(step.limit);
            await runRound(this, step.allowsToolCalls);
            break;
          case "answer_calls":
            await processCalls(this, step.calls);
            break;
          case "reject_calls":
            this.#rejectCalls(step.calls, step.limit?.name);
            break;
          case "ask_user":
            await this.#askToContinue(step.limit);
            break;
          case "complete":
            this.task.completed(this.task.state.usage);
            return;
          default:
            assertNever(step);
        }
      }
    } catch (error) {
      this.#end(error);
    } finally {
      this.#clearTimer?.();
      this.#endController.abort();
      this.tree.tasks.delete(this.task.taskId);
      this.#resolveEnded();
    }
  }

  stop(reason: StopReason): void {
    this.#controller.abort(new StoppedError(reason));
  }

  runChild(task: TaskWriter, agent: Agent): Promise<void> {
    return new TaskRun(this.tree, task, agent, this).run();
  }

  /**
   * Writes the first event of this run. A resumed task must wait until it is stored: if the log cannot be written, no model
   * request should be made.
   */
  #start(): "new" | "resumed" {
    const { status, epoch } = this.task.state;
    this.#startTimeLimit();
    if (status === "created") {
      this.task.working();
      return "new";
    }
    this.task.working({ recovered: true, epoch: epoch + 1 });
    this.#retractRound();
    return "resumed";
  }

  #startTimeLimit(): void {
    const { seconds } = this.limits;
    if (seconds === undefined) return;
    const startedAt = Date.parse(this.task.state.info.created_at);
    const remainingMs = startedAt + seconds * 1000 - this.tree.options.now();
    const reason =
      this.request.chat_id === undefined
        ? `the task exceeded its time limit of ${seconds} s`
        : `the answer exceeded its time limit of ${seconds} s; change it in the chat settings (limits.seconds)`;
    const expire = (): void => this.stop({ type: "expired", reason });
    if (remainingMs <= 0) expire();
    else this.#clearTimer = setLongTimeout(remainingMs, expire);
  }

  /** Retracts the output of an interrupted round, because the round is repeated. */
  #retractRound(): void {
    const { state } = this.task;
    if (state.round === 0 || state.round_done) return;
    for (const { id } of getUnretractedItems(state, state.round_started_at_index))
      this.task.retract(id, "interrupted");
  }

  #getLimitState(): LimitState {
    const { state } = this.task;
    const approvals = getTaskApprovals(this).filter(({ kind }) => kind === "limit");
    const isDenied = approvals.some(
      ({ status, resolution }) => status === "expired" || resolution?.decision === "deny",
    );
    return {
      reachedLimit: findReachedLimit(
        state,
        sumTreeUsage(this.tree.state, this.task.taskId),
        this.limits,
        approvals,
      ),
      asksUser: this.agent.atLimit === "ask" && !isDenied,
      isFinishing: this.#isFinishing,
    };
  }

  /** Stops offering tool calls to the model, so that its next answer ends the task. */
  #startFinishing(limit: ReachedLimit | undefined): void {
    this.#isFinishing = true;
    if (limit === undefined || this.toolset.tools.size === 0) return;
    this.task.warning(
      "limit_reached",
      `the ${limitLabels[limit.name]} of ${limit.limit} was reached; the model answers without further tool calls`,
    );
  }

  #rejectCalls(calls: readonly ToolCallItem[], limit: LimitName | undefined): void {
    const cause =
      limit === undefined ? "no more calls are allowed" : `the ${limitLabels[limit]} was reached`;
    const reason = `The call was not run: ${cause}. Answer with what you have.`;
    for (const call of calls) rejectCall(this.task, call, "incomplete", reason);
  }

  async #askToContinue({ name, limit, used }: ReachedLimit): Promise<void> {
    await requestApproval(this, "limit", {
      kind: "limit",
      choices: ["approve", "deny", "abort"],
      question: `The ${limitLabels[name]} of ${limit} was reached (${used} used). Approve to allow the same amount again. Deny to get an answer from what the agent has so far.`,
      limit_name: name,
      limit,
      used,
    });
    this.activity.delete("limit");
  }

  #end(error: unknown): void {
    const cause = this.signal.aborted ? getStopError(this.signal) : error;
    const stop: StopReason | undefined = cause instanceof StoppedError ? cause.reason : undefined;
    // Another process resumes the task from the log, unless it was canceled before.
    if (stop?.type === "detached" || this.tree.hasFailed) return;
    if (stop === undefined && this.tree.isDetached) return;
    endTask(this.tree.writer, this.task.taskId, this.#toEnding(stop, error));
    if (stop === undefined && !(error instanceof ModelError || error instanceof RuntimeError))
      this.tree.options.onFailure(`task ${this.task.taskId} failed`, error);
  }

  #toEnding(
    stop: Exclude<StopReason, { type: "detached" }> | undefined,
    error: unknown,
  ): TaskEnding {
    if (stop?.type === "expired") return { status: "expired", reason: stop.reason };
    if (stop !== undefined) {
      const { by, reason } = stop;
      return { status: "canceled", by, ...(reason === undefined ? {} : { reason }) };
    }
    const isKnownError = error instanceof ModelError || error instanceof RuntimeError;
    const code = isKnownError ? error.code : "internal_error";
    const retryable = error instanceof ModelError && error.retryable;
    return {
      status: "failed",
      error: { code, message: this.tree.eventText(getErrorMessage(error)), retryable },
    };
  }
}
