import { setTimeout } from "node:timers/promises";
import {
  ReferencePool,
  TreeWriter,
  type BlobStore,
  type ContentPart,
  type Grant,
  type Limits,
  type LogEntry,
  type Resolution,
  type TaskApproval,
  type TaskLog,
  type TaskState,
  type TaskTree,
  type TaskWriter,
} from "@deltawire/tasks";
import type { Activity } from "./activity.ts";
import type { Agent } from "./agent.ts";
import { callAfter } from "./call-after.ts";
import { problemWith, type PersonsDecision } from "./check-decision.ts";
import { Decisions } from "./decisions.ts";
import { endTask, hasEnded } from "./end-task.ts";
import { Journal } from "./journal.ts";
import type { Memory } from "./memory.ts";
import type { Model } from "./model.ts";
import { Stopped, throwIfStopped, unlessStopped, type Stop } from "./stop.ts";
import { TaskRun } from "./task-run.ts";
import type { Price } from "./usage.ts";

/** What a root task and all below it need from outside. */
export interface TreeOptions {
  log: TaskLog;
  blobs: BlobStore;
  model: (name: string) => Model;
  price: (model: string) => Price | undefined;
  now: () => number;
  newId: (prefix: string) => string;
  sha256: (text: string) => string;
  onFailure: (message: string, cause: unknown) => void;
  /** Told of every batch that is kept. */
  onKept: (entries: readonly LogEntry[], state: TaskTree) => void;
  /** The log cannot be written: this run has stopped where it was. */
  onLost: (error: unknown) => void;
}

export type Decided =
  | { is: "resolved"; approval: TaskApproval }
  /** Somebody was faster, or it has expired. */
  | { is: "late"; approval: TaskApproval }
  | { is: "invalid"; message: string }
  | { is: "unknown" };

const leavingPollMs = 10;

/** A root task at work, with all tasks below it: one log, one counter, one place where people's decisions come in. */
export class TreeRun {
  readonly rootTaskId: string;
  readonly writer: TreeWriter;
  readonly journal: Journal;
  readonly memory: Memory;
  readonly tasks = new Map<string, TaskRun>();
  /** The reduction of what is kept. */
  kept: TaskTree;
  /** Calls whose tools are at work, until what came of them is written down. */
  readonly atWork = new Set<string>();
  hasFailed = false;
  isLeft = false;
  #isLeaving = false;
  readonly #options: TreeOptions;
  readonly #decisions = new Decisions();

  constructor(
    options: TreeOptions,
    rootTaskId: string,
    { state, memory, include }: { state?: TaskTree; memory: Memory; include: readonly "content"[] },
  ) {
    this.#options = options;
    this.rootTaskId = rootTaskId;
    this.memory = memory;
    const { log, now, newId, sha256, onKept } = options;
    const emit = (entry: LogEntry): void => {
      memory.note(entry);
      this.journal.write(entry);
    };
    const times = { now: () => new Date(now()).toISOString(), newId, sha256, include };
    this.writer = new TreeWriter({ ...times, emit }, state);
    this.kept = this.writer.state;
    this.journal = new Journal(
      {
        log,
        rootTaskId,
        state: () => this.writer.state,
        onKept: (entries, kept) => {
          this.kept = kept;
          onKept(entries, kept);
        },
        onFailed: (error) => {
          this.hasFailed = true;
          this.stop({ why: "left" });
          options.onLost(error);
        },
      },
      this.kept.head,
    );
  }

  /** Writes down that there is a root task. */
  create(agent: Agent, limits: Limits, sessionId: string | undefined, asked: object): void {
    this.writer.create(
      this.rootTaskId,
      {
        root_task_id: this.rootTaskId,
        attempt: 1,
        depth: 0,
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
        agent: agent.name,
        model: this.modelNameOf(agent),
        limits,
      },
      JSON.parse(JSON.stringify(asked)),
    );
  }

  /** Works until the task has ended and that is kept. */
  async run(agent: Agent): Promise<void> {
    const root = new TaskRun(this, this.writer.task(this.rootTaskId), agent);
    // A person has ended it, and the process that was told did not come to it.
    const aborted = this.state.approvals.find(({ resolution }) => resolution?.decision === "abort");
    if (aborted?.resolution !== undefined) root.stop(stopBy(aborted.resolution));
    await this.#letGoOfRefused();
    await root.run();
    if (this.hasFailed || this.isLeft) return;
    await this.journal.settled();
    await this.#letGoOfRefused();
  }

  /** Ends a task and those below it, whether it is at work or not; what became of it. */
  async cancel(
    taskId: string,
    by: string,
    reason: string | undefined,
  ): Promise<"canceled" | "ended"> {
    const state = this.state.tasks[taskId];
    if (state === undefined || hasEnded(state)) return "ended";
    const run = this.tasks.get(taskId);
    const why = { by, ...(reason === undefined ? {} : { reason }) };
    if (run === undefined) endTask(this.writer, taskId, { is: "canceled", ...why });
    else run.stop({ why: "canceled", ...why });
    await run?.ended;
    await this.journal.settled();
    return this.state.tasks[taskId]?.status === "canceled" ? "canceled" : "ended";
  }

  /** A user's word for a task; false where it has ended. */
  async addInput(
    taskId: string,
    content: ContentPart[],
    delivery: "steer" | "queue",
  ): Promise<boolean> {
    const state = this.state.tasks[taskId];
    if (state === undefined || hasEnded(state)) return false;
    if (this.tasks.get(taskId)?.signal.aborted === true) return false;
    const item = { type: "message", id: this.newId("in"), role: "user", content } as const;
    this.writer.task(taskId).inputAdded(item, delivery);
    await this.journal.settled();
    return true;
  }

  /** Ends without a word, as another process will go on. Tools at work may come to their end first; nothing new begins. */
  async leave(waitMs: number): Promise<void> {
    this.#isLeaving = true;
    const end = Date.now() + waitMs;
    while (this.atWork.size > 0 && Date.now() < end) await setTimeout(leavingPollMs);
    this.stop({ why: "left" });
  }

  /** Throws where nothing new may begin. */
  mayBegin(signal: AbortSignal): void {
    throwIfStopped(signal);
    if (this.#isLeaving) throw new Stopped({ why: "left" });
  }

  stop(stop: Stop): void {
    this.isLeft ||= stop.why === "left";
    this.tasks.get(this.rootTaskId)?.stop(stop);
  }

  get state(): TaskTree {
    return this.writer.state;
  }

  approval(approvalId: string): TaskApproval | undefined {
    return this.state.approvals.find(({ approval_id }) => approval_id === approvalId);
  }

  /** Resolves when a person has decided, or has not in time. */
  async decided(
    approvalId: string,
    {
      activity,
      key,
      task,
      signal,
    }: { activity: Activity; key: string; task: TaskWriter; signal: AbortSignal },
  ): Promise<void> {
    const approval = this.approval(approvalId);
    if (approval?.status !== "pending") return;
    const wait = this.#decisions.wait(approvalId);
    activity.set(key, [approvalId]);
    const { expires_at } = approval;
    const clear =
      expires_at === undefined
        ? undefined
        : callAfter(Date.parse(expires_at) - this.now(), () => this.#expire(approvalId, task));
    try {
      await unlessStopped(wait, signal);
      activity.set(key, []);
    } finally {
      clear?.();
    }
  }

  #expire(approvalId: string, task: TaskWriter): void {
    if (this.approval(approvalId)?.status !== "pending") return;
    task.approvalExpired(approvalId);
    this.#decisions.told(approvalId);
  }

  /** One decision wins: between looking and writing nothing else can happen. */
  async decide(approvalId: string, resolution: PersonsDecision): Promise<Decided> {
    const approval = this.approval(approvalId);
    if (approval === undefined) return { is: "unknown" };
    if (approval.status !== "pending") return { is: "late", approval };
    const problem = await problemWith(resolution, approval, this.#agentOf(approval.task_id));
    if (problem !== undefined) return { is: "invalid", message: problem };
    const task = this.writer.task(approval.task_id);
    if (this.#isPast(approval)) this.#expire(approvalId, task);
    const now = this.approval(approvalId);
    if (now?.status !== "pending") return { is: "late", approval: now ?? approval };
    const approves = resolution.decision === "approve";
    const usual = approval.scopes?.includes("session") === true ? "session" : "once";
    const scope = approves ? (resolution.scope ?? usual) : "once";
    task.approvalResolved(approvalId, { ...resolution, scope });
    this.#decisions.told(approvalId);
    if (resolution.decision === "abort") this.stop(stopBy(resolution));
    await this.journal.settled();
    await this.#letGoOfRefused();
    return { is: "resolved", approval: this.approval(approvalId) ?? approval };
  }

  /** A result that was refused is taken out of the log too, once it is kept that it was. */
  async #letGoOfRefused(): Promise<void> {
    for (const { approval_id, status, resolution } of this.kept.approvals) {
      if (status === "pending" || resolution?.decision === "approve") continue;
      const rest = this.memory.refuse(approval_id);
      if (rest === undefined) continue;
      await this.#options.log
        .replace(this.rootTaskId, rest)
        .catch((error: unknown) => this.onFailure("a refused result is still in the log", error));
    }
  }

  /** It may be asked before the timer that ends it has been set: by a process that has just begun. */
  #isPast({ expires_at }: TaskApproval): boolean {
    return expires_at !== undefined && Date.parse(expires_at) <= this.now();
  }

  /** What people have allowed in this session, also in its other tasks. */
  grants(): Promise<Grant[]> {
    return this.#options.log.grants(this.#session);
  }

  grant(grant: Grant): Promise<void> {
    return this.#options.log.addGrant(this.#session, grant);
  }

  poolOf(state: TaskState): ReferencePool {
    const pieces = state.output.flatMap(({ id }) => {
      const { pool } = this.memory.item(id);
      return pool === undefined ? [] : [pool];
    });
    return ReferencePool.fromJson(
      ...pieces.toSorted((one, other) => Number(one["after"]) - Number(other["after"])),
    );
  }

  modelNameOf({ model, name }: Agent): string {
    return typeof model === "string" ? model : (model.name ?? name);
  }

  model(name: string): Model {
    return this.#options.model(name);
  }

  price(model: string): Price | undefined {
    return this.#options.price(model);
  }

  get blobs(): BlobStore {
    return this.#options.blobs;
  }

  now(): number {
    return this.#options.now();
  }

  newId(prefix: string): string {
    return this.#options.newId(prefix);
  }

  onFailure(message: string, cause: unknown): void {
    this.#options.onFailure(message, cause);
  }

  /** A session is the chat, else the root task. */
  get #session(): string {
    return this.state.tasks[this.rootTaskId]?.info.session_id ?? this.rootTaskId;
  }

  /** Also of a task that has not been taken up yet. */
  #agentOf(taskId: string): Agent | undefined {
    const running = this.tasks.get(taskId);
    if (running !== undefined) return running.agent;
    const { parent_task_id, agent } = this.state.tasks[taskId]?.info ?? {};
    if (parent_task_id === undefined) return undefined;
    return this.#agentOf(parent_task_id)?.agents.find(({ name }) => name === agent);
  }
}

function stopBy({ by, reason }: Pick<Resolution, "by" | "reason">): Stop {
  return { why: "canceled", by, ...(reason === undefined ? {} : { reason }) };
}
