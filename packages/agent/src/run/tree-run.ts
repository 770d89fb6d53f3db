import { setTimeout } from "node:timers/promises";
import {
  hasEnded,
  ReferencePool,
  TreeWriter,
  type BlobStore,
  type ContentPart,
  type InputItem,
  type JsonObject,
  type Limits,
  type LogEntry,
  type TaskLog,
  type TaskState,
  type TaskTree,
} from "@deltawire/tasks";
import { modelNameOf, type Agent } from "../agent.ts";
import { Decisions } from "../approvals/decisions.ts";
import { endTask } from "./end-task.ts";
import { brief } from "../event-text.ts";
import type { Cuts } from "../cuts.ts";
import { Journal } from "../log/journal.ts";
import { LatestProgress } from "../log/latest-progress.ts";
import type { Model } from "../model.ts";
import { earlierNumbers } from "../model/history-references.ts";
import type { ModelWaits } from "../model/model-waits.ts";
import type { PrivateParts } from "../log/private-parts.ts";
import type { Redact } from "../redaction/redactor.ts";
import type { TaskRequest } from "../task-request.ts";
import { Stopped, throwIfStopped, type Stop } from "./stop.ts";
import { TaskRun } from "./task-run.ts";
import type { Price } from "./usage.ts";
import type { Variables } from "../variables/variables.ts";

/** What a root task and all below it need from outside. */
export interface TreeOptions {
  log: TaskLog;
  blobs: BlobStore;
  model: (name: string) => Model;
  price: (model: string) => Price | undefined;
  modelWaits: ModelWaits;
  /** Takes secrets out of what tools give and of what models fail with, before it is written. */
  redact: Redact;
  /** Where a secret may begin that continues behind the end of a text; its length if there is none. */
  secretStart?: ((text: string) => number) | undefined;
  /** The long values of a chat. */
  variablesOf: (chatId: string) => Variables | undefined;
  /** Where texts of a chat may be cut. */
  cutsOf: (chatId: string) => Cuts | undefined;
  now: () => number;
  newId: (prefix: string) => string;
  sha256: (text: string) => string;
  onFailure: (message: string, cause: unknown) => void;
  /** Told of every batch that is kept. */
  onKept: (entries: readonly LogEntry[], state: TaskTree) => void;
  /** The log cannot be written: this run has stopped where it was. */
  onLost: (error: unknown) => void;
}

/** What there is of a tree already; nothing but what was asked, if it is new. */
export interface Beginning {
  state?: TaskTree;
  privateParts: PrivateParts;
  include: readonly "content"[];
}

const leavingPollMs = 10;

/** A root task at work, with all tasks below it: one log, one counter. */
export class TreeRun {
  readonly options: TreeOptions;
  readonly rootTaskId: string;
  readonly writer: TreeWriter;
  readonly journal: Journal;
  readonly privateParts: PrivateParts;
  readonly decisions = new Decisions(this);
  readonly tasks = new Map<string, TaskRun>();
  /** The reduction of what is kept. */
  kept: TaskTree;
  /** Of what is kept. */
  readonly progress = new LatestProgress();
  /** Calls whose tools are at work, until what came of them is written down. */
  readonly atWork = new Set<string>();
  hasFailed = false;
  isLeft = false;
  #isLeaving = false;

  constructor(
    options: TreeOptions,
    rootTaskId: string,
    { state, privateParts, include }: Beginning,
  ) {
    this.options = options;
    this.rootTaskId = rootTaskId;
    this.privateParts = privateParts;
    const { log, now, newId, sha256, onKept } = options;
    const emit = (entry: LogEntry): void => {
      privateParts.note(entry);
      this.journal.write(entry, privateParts.refusedBy(entry.event));
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
          this.progress.note(entries);
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
  create(
    agent: Agent,
    limits: Limits,
    sessionId: string | undefined,
    asked: { content: readonly ContentPart[] },
    referencesBefore: number,
  ): void {
    const kept = JSON.parse(JSON.stringify(asked)) as JsonObject & { content: JsonObject[] };
    this.writer.create(
      this.rootTaskId,
      {
        root_task_id: this.rootTaskId,
        attempt: 1,
        depth: 0,
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
        agent: agent.name,
        model: modelNameOf(agent),
        limits,
        ...(referencesBefore === 0 ? {} : { references_before: referencesBefore }),
        input: kept.content,
      },
      kept,
    );
  }

  /** Works until the task has ended and that is kept. */
  async run(agent: Agent): Promise<void> {
    const root = new TaskRun(this, this.writer.task(this.rootTaskId), agent);
    const { abort } = this.decisions;
    if (abort !== undefined) root.stop(abort);
    await root.run();
    if (!this.hasFailed && !this.isLeft) await this.journal.settled();
  }

  /** Ends a task and those below it, whether it is at work or not; what became of it. */
  async cancel(
    taskId: string,
    by: string,
    reason: string | undefined,
  ): Promise<"canceled" | "ended"> {
    const state = this.state.tasks[taskId];
    if (state === undefined || hasEnded(state.status)) {
      await this.journal.settled();
      return "ended";
    }
    const run = this.tasks.get(taskId);
    const why = { by, ...(reason === undefined ? {} : { reason }) };
    if (run === undefined) endTask(this.writer, taskId, { is: "canceled", ...why });
    else run.stop({ why: "canceled", ...why });
    await run?.ended;
    await this.journal.settled();
    return this.state.tasks[taskId]?.status === "canceled" ? "canceled" : "ended";
  }

  /** A user's word for a task; false where it has ended. */
  async addInput(taskId: string, item: InputItem, delivery: "steer" | "queue"): Promise<boolean> {
    const state = this.state.tasks[taskId];
    if (state === undefined || hasEnded(state.status)) return false;
    if (this.tasks.get(taskId)?.signal.aborted === true) return false;
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

  /** Those of the chat that it answers in, which all tasks of it share. */
  get variables(): Variables | undefined {
    return this.#ofChat(this.options.variablesOf);
  }

  /** Anywhere, if undefined. */
  get cuts(): Cuts | undefined {
    return this.#ofChat(this.options.cutsOf);
  }

  #ofChat<T>(find: (chatId: string) => T | undefined): T | undefined {
    const { chat_id } = this.privateParts.request(this.rootTaskId) as Pick<TaskRequest, "chat_id">;
    return chat_id === undefined ? undefined : find(chat_id);
  }

  poolOf(state: TaskState): ReferencePool {
    const pieces = state.output.flatMap(({ id }) => {
      const { pool } = this.privateParts.item(id);
      return pool === undefined ? [] : [pool];
    });
    const { history } = this.privateParts.request(state.task_id) as Pick<TaskRequest, "history">;
    const { citable } = earlierNumbers(history ?? []);
    const { references_before: last = 0 } = state.info;
    return new ReferencePool({ last, citable }).restore(
      ...pieces.toSorted((one, other) => Number(one["after"]) - Number(other["after"])),
    );
  }

  /** Words of others for a field of an event. Secrets go first: half of one would not be known for one. */
  told(text: string): string {
    return brief(this.options.redact(text));
  }
}
