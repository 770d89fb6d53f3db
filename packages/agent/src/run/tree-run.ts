import { setTimeout } from "node:timers/promises";
import {
  hasEnded,
  TreeWriter,
  type ContentPart,
  type InputItem,
  type JsonObject,
  type TaskLimits,
  type LogEntry,
  type TaskCreation,
  type TaskTree,
} from "@deltawire/tasks";
import { getModelName, type Agent } from "../agent.ts";
import { ApprovalDecisions } from "../approvals/decisions.ts";
import { endTask } from "../task/end-task.ts";
import { truncateEventText } from "../event-text.ts";
import type { TruncationGuard } from "../truncate.ts";
import { Journal } from "../log/journal.ts";
import { LatestProgress } from "../log/latest-progress.ts";
import type { ModelServices } from "../model/round-context.ts";
import type { PrivateRecords } from "../log/private-records.ts";
import type { TaskRequest } from "../task-request.ts";
import { StoppedError, throwIfStopped, type StopReason } from "../task/stop-reason.ts";
import { TaskRun } from "./task-run.ts";
import type { Variables } from "../variables/variables.ts";

/** The options and services of a root task and its sub-agents. */
export interface TreeOptions extends ModelServices {
  /** Returns the variables of a chat. */
  variablesFor: (chatId: string) => Variables | undefined;
  /** Returns the guard that prevents truncation from splitting private values of a chat. */
  truncationGuardFor: (chatId: string) => TruncationGuard | undefined;
  sha256: (text: string) => string;
  /** Called after each stored batch of events. */
  onStored: (entries: readonly LogEntry[], state: TaskTree) => void;
  /** Called if the log could not be written. The run has stopped by then. */
  onLogFailed: (error: unknown) => void;
}

/** The claim with which this process runs a tree. */
export interface TreeLease {
  readonly processId: string;
  readonly epoch: number;
  /** False if another process may have claimed the tree. */
  readonly isValid: () => boolean;
}

/** The state of a tree before this run. A new tree has only the private records of its request. */
export interface InitialTree {
  state?: TaskTree;
  privateRecords: PrivateRecords;
  include: readonly "content"[];
  /** Owner of the task, its blobs and its grants. */
  owner: string;
  /** Undefined: no other process can run the tree. */
  lease?: TreeLease | undefined;
  /** Only for a new tree. */
  creation?: TaskCreation | undefined;
}

const detachPollMs = 10;

/** A running root task with the tasks of its sub-agents. They share one log and one sequence of event numbers. */
export class TreeRun {
  readonly options: TreeOptions;
  readonly rootTaskId: string;
  readonly owner: string;
  readonly lease: TreeLease | undefined;
  readonly writer: TreeWriter;
  readonly journal: Journal;
  readonly privateRecords: PrivateRecords;
  readonly decisions = new ApprovalDecisions(this);
  readonly tasks = new Map<string, TaskRun>();
  /** The state after the events that are stored in the log. */
  storedState: TaskTree;
  /** Derived from stored events only. */
  readonly progress = new LatestProgress();
  /** Calls whose tools are running, until their result is written. */
  readonly runningCalls = new Set<string>();
  hasFailed = false;
  isDetached = false;
  #isDetaching = false;

  constructor(
    options: TreeOptions,
    rootTaskId: string,
    { state, privateRecords, include, owner, lease, creation }: InitialTree,
  ) {
    this.options = options;
    this.rootTaskId = rootTaskId;
    this.owner = owner;
    this.lease = lease;
    this.privateRecords = privateRecords;
    const { log, now, newId, sha256, onStored } = options;
    const emit = (entry: LogEntry): void => {
      privateRecords.record(entry);
      this.journal.write(entry, privateRecords.dropDeniedResult(entry.event));
    };
    const services = { now: () => new Date(now()).toISOString(), newId, sha256, include };
    this.writer = new TreeWriter({ ...services, emit }, state);
    this.storedState = this.writer.state;
    this.journal = new Journal(
      {
        log,
        rootTaskId,
        ...(lease === undefined
          ? {}
          : { lease: { processId: lease.processId, epoch: lease.epoch } }),
        ...(creation === undefined ? {} : { creation }),
        getState: () => this.writer.state,
        onStored: (entries, stored) => {
          this.storedState = stored;
          this.progress.record(entries);
          onStored(entries, stored);
        },
        onFailed: (error) => {
          this.abandon();
          options.onLogFailed(error);
        },
      },
      this.storedState.head,
    );
  }

  /** Writes the event that creates the root task. */
  create(
    agent: Agent,
    limits: TaskLimits,
    sessionId: string | undefined,
    storedRequest: { content: readonly ContentPart[] },
    referencesBefore: number,
  ): void {
    const serializedRequest = JSON.parse(JSON.stringify(storedRequest)) as JsonObject & {
      content: JsonObject[];
    };
    this.writer.create(
      this.rootTaskId,
      {
        root_task_id: this.rootTaskId,
        attempt: 1,
        depth: 0,
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
        agent: agent.name,
        model: getModelName(agent),
        limits,
        ...(referencesBefore === 0 ? {} : { references_before: referencesBefore }),
        input: serializedRequest.content,
      },
      serializedRequest,
    );
  }

  /** Resolves when the end of the task is stored. */
  async run(agent: Agent): Promise<void> {
    const root = new TaskRun(this, this.writer.task(this.rootTaskId), agent);
    const { abortStop } = this.decisions;
    if (abortStop !== undefined) root.stop(abortStop);
    await root.run();
    if (!this.hasFailed && !this.isDetached) await this.journal.whenStored();
  }

  /**
   * Cancels a task and its sub-agents, running or not. Returns `ended` if the task ended in another way first. Throws a
   * StoppedError if the run was stopped without ending the task.
   */
  async cancel(
    taskId: string,
    by: string,
    reason: string | undefined,
  ): Promise<"canceled" | "ended"> {
    const state = this.state.tasks[taskId];
    if (state === undefined || hasEnded(state.status)) {
      await this.journal.whenStored();
      return "ended";
    }
    const run = this.tasks.get(taskId);
    const cancellation = { by, ...(reason === undefined ? {} : { reason }) };
    if (run === undefined) endTask(this.writer, taskId, { status: "canceled", ...cancellation });
    else run.stop({ type: "canceled", ...cancellation });
    await run?.ended;
    await this.journal.whenStored();
    const status = this.state.tasks[taskId]?.status;
    if (!hasEnded(status)) throw new StoppedError({ type: "detached" });
    return status === "canceled" ? "canceled" : "ended";
  }

  /**
   * Adds a user message to a task. Returns false if the task has ended. Throws a StoppedError if the run was stopped without ending
   * the task.
   */
  async addInput(taskId: string, item: InputItem, delivery: "steer" | "queue"): Promise<boolean> {
    const state = this.state.tasks[taskId];
    if (state?.inputs.some((input) => input.item.id === item.id) === true) {
      // The same message was sent again because its answer was lost.
      await this.journal.whenStored();
      return true;
    }
    if (state === undefined || hasEnded(state.status)) return false;
    if (this.tasks.get(taskId)?.signal.aborted === true) {
      if (this.isDetached) throw new StoppedError({ type: "detached" });
      return false;
    }
    this.writer.task(taskId).inputAdded(item, delivery);
    await this.journal.whenStored();
    return true;
  }

  /** Stops without ending the task, so that another process can resume it. First waits up to `timeoutMs` for running tools. */
  async detach(timeoutMs: number): Promise<void> {
    this.#isDetaching = true;
    const deadline = Date.now() + timeoutMs;
    while (this.runningCalls.size > 0 && Date.now() < deadline) await setTimeout(detachPollMs);
    this.stop({ type: "detached" });
  }

  /** Throws if nothing new may start. */
  assertMayStart(signal: AbortSignal): void {
    throwIfStopped(signal);
    if (this.#isDetaching) throw new StoppedError({ type: "detached" });
  }

  /** Stops because the log cannot be written, or because another process may run the tree. */
  abandon(): void {
    this.hasFailed = true;
    this.stop({ type: "detached" });
  }

  /** Call it before anything that must not happen twice: a process that was stopped for a while may have lost the tree. */
  abandonIfLeaseExpired(): void {
    if (this.lease?.isValid() === false) this.abandon();
  }

  stop(reason: StopReason): void {
    this.isDetached ||= reason.type === "detached";
    this.tasks.get(this.rootTaskId)?.stop(reason);
  }

  get state(): TaskTree {
    return this.writer.state;
  }

  /** The variables of the chat that the tree answers in, shared by all its tasks. */
  get variables(): Variables | undefined {
    return this.#findForChat(this.options.variablesFor);
  }

  /** Undefined: text may be truncated anywhere. */
  get truncationGuard(): TruncationGuard | undefined {
    return this.#findForChat(this.options.truncationGuardFor);
  }

  #findForChat<T>(find: (chatId: string) => T | undefined): T | undefined {
    const { chat_id } = this.privateRecords.request(this.rootTaskId) as Pick<
      TaskRequest,
      "chat_id"
    >;
    return chat_id === undefined ? undefined : find(chat_id);
  }

  /** Removes secrets before truncating, because half of a secret would not be recognized. */
  eventText(text: string): string {
    return truncateEventText(this.options.redact(text));
  }
}
