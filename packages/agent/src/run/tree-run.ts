import { setTimeout } from "node:timers/promises";
import {
  hasEnded,
  TreeWriter,
  type ContentPart,
  type InputItem,
  type JsonObject,
  type Limits,
  type LogEntry,
  type TaskTree,
} from "@deltawire/tasks";
import { modelNameOf, type Agent } from "../agent.ts";
import { Decisions } from "../approvals/decisions.ts";
import { endTask } from "../task/end-task.ts";
import { brief } from "../event-text.ts";
import type { Cuts } from "../cuts.ts";
import { Journal } from "../log/journal.ts";
import { LatestProgress } from "../log/latest-progress.ts";
import type { ModelServices } from "../model/round-context.ts";
import type { PrivateParts } from "../log/private-parts.ts";
import type { TaskRequest } from "../task-request.ts";
import { Stopped, throwIfStopped, type Stop } from "../task/stop.ts";
import { TaskRun } from "./task-run.ts";
import type { Variables } from "../variables/variables.ts";

/** What a root task and all below it need from outside. */
export interface TreeOptions extends ModelServices {
  /** The long values of a chat. */
  variablesOf: (chatId: string) => Variables | undefined;
  /** Where texts of a chat may be cut. */
  cutsOf: (chatId: string) => Cuts | undefined;
  sha256: (text: string) => string;
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

  /** Secrets go first: half of one would not be known for one. */
  eventText(text: string): string {
    return brief(this.options.redact(text));
  }
}
