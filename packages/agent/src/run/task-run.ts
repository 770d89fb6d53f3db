import type { Limits, ReferencePool, TaskWriter, ToolCallItem } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import { approvalsOf, askPerson } from "../approvals/ask-person.ts";
import { answerCalls } from "../calls/answer-call.ts";
import type { CallContext } from "../calls/call-context.ts";
import { messageOf } from "../event-text.ts";
import { ModelError } from "../model.ts";
import { askModel } from "../model/ask-model.ts";
import { referencePool } from "../model/history-references.ts";
import type { RoundContext } from "../model/round-context.ts";
import { RuntimeError } from "../runtime-error.ts";
import { Activity } from "../task/activity.ts";
import { callAfter } from "../event-loop.ts";
import { endTask, type Ending } from "../task/end-task.ts";
import { unretractedItems } from "../task/items.ts";
import { refuseCall } from "../task/refuse-call.ts";
import { Stopped, stoppedBy, type Stop } from "../task/stop.ts";
import { toolsetOf, type Toolset } from "../task/toolset.ts";
import { treeUsage } from "../task/usage.ts";
import { unreachable } from "../unreachable.ts";
import { nextStep, type Budget } from "./next-step.ts";
import { reachedLimit, type LimitName, type Reached } from "./reached-limit.ts";

/** The tree that a task runs in. */
type RunningTree = RoundContext["tree"] &
  CallContext["tree"] & {
    /** The tasks that run, by id. */
    readonly tasks: Map<string, TaskRun>;
    /** The log cannot be written. */
    readonly hasFailed: boolean;
  };

/** One agent at work on one task: a root task, or the task of a sub-agent. */
export class TaskRun implements RoundContext, CallContext {
  readonly tree: RunningTree;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly asked: RoundContext["asked"];
  readonly toolset: Toolset;
  readonly pool: ReferencePool;
  readonly activity: Activity;
  readonly depth: number;
  hasToldDropped = false;
  readonly #controller = new AbortController();
  /** Resolves when the task has ended, or has been left to another process. */
  readonly ended: Promise<void>;
  #hasEnded: () => void = () => undefined;
  readonly #isOver = new AbortController();
  #clearTimer: (() => void) | undefined;
  #finishing = false;

  constructor(tree: RunningTree, task: TaskWriter, agent: Agent, above?: { signal: AbortSignal }) {
    this.tree = tree;
    this.task = task;
    this.agent = agent;
    const { depth } = task.state.info;
    this.depth = depth;
    this.asked = tree.privateParts.request(task.taskId);
    this.toolset = toolsetOf(agent, this.asked);
    this.pool = referencePool(task.state, tree.privateParts);
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
            await answerCalls(this, step.calls);
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

  runBelow(task: TaskWriter, agent: Agent): Promise<void> {
    return new TaskRun(this.tree, task, agent, this).run();
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
    for (const { id } of unretractedItems(state, state.round_started_at_index))
      this.task.retract(id, "interrupted");
  }

  #budget(): Budget {
    const { state } = this.task;
    const answers = approvalsOf(this).filter(({ kind }) => kind === "limit");
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
    await askPerson(this, "limit", {
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

  #ending(stop: Exclude<Stop, { why: "left" }> | undefined, error: unknown): Ending {
    if (stop?.why === "expired") return { is: "expired", reason: stop.reason };
    if (stop !== undefined) {
      const { by, reason } = stop;
      return { is: "canceled", by, ...(reason === undefined ? {} : { reason }) };
    }
    const known = error instanceof ModelError || error instanceof RuntimeError;
    const code = known ? error.code : "internal_error";
    const retryable = error instanceof ModelError && error.retryable;
    return {
      is: "failed",
      error: { code, message: this.tree.eventText(messageOf(error)), retryable },
    };
  }
}
