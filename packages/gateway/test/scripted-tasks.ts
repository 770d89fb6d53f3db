import type { DecisionResult, TaskListener, TaskRequest } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import {
  Reducer,
  computeStateHash,
  buildTaskView,
  type InputItem,
  type LogEntry,
  type TaskApproval,
  type TaskCreation,
  type TaskEvent,
  type TaskEventBody,
  type TaskStatus,
  type TaskTree,
  type Usage,
} from "@deltawire/tasks";
import { newId } from "../src/new-id.ts";
import type { TaskRuntime } from "../src/tasks/task-runtime.ts";

const noUsage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

/** A runtime whose tasks emit the events that a test passes. Events are stored before subscribers get them. */
export class ScriptedTasks implements TaskRuntime {
  readonly store: Store;
  readonly started: TaskRequest[] = [];
  readonly listeners = new Map<string, Set<TaskListener>>();
  readonly #tasks = new Map<string, ScriptedTask>();
  /** The error of the next start. */
  failure: Error | undefined;
  /** Called with the stored state of a task whose status has changed. */
  onStatus: (rootTaskId: string, state: TaskTree) => void = () => undefined;

  constructor(store: Store) {
    this.store = store;
  }

  async start(
    request: TaskRequest,
    taskId = newId("task"),
    creation: TaskCreation = {},
  ): Promise<string> {
    if (this.failure !== undefined) throw this.failure;
    this.started.push(request);
    const task = new ScriptedTask(this, taskId, creation);
    this.#tasks.set(taskId, task);
    await task.emit(
      { type: "task.created", task: createTaskInfo(taskId, request.session_id) },
      { type: "task.working" },
    );
    return taskId;
  }

  /** Starts a task that the test controls. */
  async startTask(): Promise<ScriptedTask> {
    return this.get(await this.start({ model: "m", input: "Go" }));
  }

  get(taskId: string): ScriptedTask {
    const task = this.#tasks.get(taskId);
    if (task === undefined) throw new Error(`no task ${taskId} is staged`);
    return task;
  }

  /** Makes a task unknown to the runtime, as if its process had exited. */
  forget(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  live(rootTaskId: string): TaskTree | undefined {
    return this.#tasks.get(rootTaskId)?.storedTree;
  }

  async contents(rootTaskId: string) {
    return { state: this.get(rootTaskId).storedTree, contentOf: () => undefined };
  }

  async progress(): Promise<never[]> {
    return [];
  }

  subscribe(rootTaskId: string, listener: TaskListener): () => void {
    const all = this.listeners.get(rootTaskId) ?? new Set();
    this.listeners.set(rootTaskId, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.listeners.delete(rootTaskId);
    };
  }

  async pending(): Promise<never[]> {
    return [];
  }

  async decide(
    ...[approvalId, resolution]: Parameters<TaskRuntime["decide"]>
  ): Promise<DecisionResult> {
    const root = await this.store.findRootTaskByApproval(approvalId);
    const task = root === undefined ? undefined : this.#tasks.get(root);
    if (task === undefined) return { type: "not_found" };
    const approval = task.approval(approvalId);
    if (approval.status !== "pending") return { type: "superseded", approval };
    if (!approval.choices.includes(resolution.decision))
      return {
        type: "invalid",
        message: `decision: expected one of ${approval.choices.join(", ")}`,
      };
    await task.emit({
      type: "task.approval.resolved",
      approval_id: approvalId,
      scope: "once",
      ...resolution,
    });
    return { type: "resolved", approval: task.approval(approvalId) };
  }

  async cancel(taskId: string, by: string, reason?: string) {
    const task = await this.#running(taskId);
    if (typeof task === "string") return task;
    setTimeout(() => void task.end({ type: "task.canceled", by, ...(reason && { reason }) }), 20);
    return "canceled" as const;
  }

  async input(
    taskId: string,
    content: TaskRequest["input"],
    delivery: "steer" | "queue",
    id = newId("in"),
  ) {
    const task = await this.#running(taskId);
    if (typeof task === "string") return task;
    const parts =
      typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const item: InputItem = { type: "message", id, role: "user", content: [...parts] };
    await task.emit({ type: "task.input.added", item, delivery });
    return "added" as const;
  }

  async #running(taskId: string): Promise<ScriptedTask | "ended" | "unknown"> {
    const root = await this.store.findRootTask(taskId);
    if (root === undefined) return "unknown";
    return this.#tasks.get(root) ?? "ended";
  }
}

export class ScriptedTask {
  readonly id: string;
  readonly #tasks: ScriptedTasks;
  readonly #creation: TaskCreation;
  readonly #reducer = new Reducer();
  #message: { id: string; index: number; text: string } | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #storedStatus: TaskStatus | undefined;
  storedTree: TaskTree;

  constructor(tasks: ScriptedTasks, id: string, creation: TaskCreation) {
    this.#tasks = tasks;
    this.#creation = creation;
    this.id = id;
    this.storedTree = this.#reducer.state;
  }

  /** Stores one batch, then notifies subscribers. */
  emit(...bodies: (TaskEventBody & { task_id?: string })[]): Promise<void> {
    const entries = bodies.map((body): LogEntry => {
      const envelope = { task_id: this.id, sequence_number: this.#reducer.head + 1 };
      const event = { ...envelope, ...body } as TaskEvent;
      this.#reducer.apply(event);
      return { event, json: JSON.stringify(event) };
    });
    const { state } = this.#reducer;
    const before = this.#keeping;
    this.#keeping = this.#keep(before, entries, state);
    return this.#keeping;
  }

  async #keep(before: Promise<void>, entries: readonly LogEntry[], state: TaskTree): Promise<void> {
    await before;
    await this.#tasks.store.append(this.id, entries, { durable: false, creation: this.#creation });
    this.storedTree = state;
    const status = state.tasks[this.id]?.status ?? "created";
    if (status !== this.#storedStatus) this.#tasks.onStatus(this.id, state);
    this.#storedStatus = status;
    const logHead = { head: state.head, status };
    for (const listener of this.#tasks.listeners.get(this.id) ?? []) listener(entries, logHead);
  }

  /** Emits the words of a message, by default one event and one batch each. */
  async emitText(texts: readonly string[], { batch = 1 } = {}): Promise<void> {
    const message = await this.#open();
    for (let index = 0; index < texts.length; index += batch) {
      const deltas = texts.slice(index, index + batch).map((delta): TaskEventBody => {
        message.text += delta;
        return { type: "task.text.delta", ...toPosition(message), delta };
      });
      await this.emit(...deltas);
    }
  }

  async requestApproval(approvalId: string): Promise<void> {
    await this.emit({
      type: "task.approval.requested",
      approval: { approval_id: approvalId, kind: "call", choices: ["approve", "deny"] },
    });
  }

  approval(approvalId: string): TaskApproval {
    const found = this.#reducer.state.approvals.find(
      (approval) => approval.approval_id === approvalId,
    );
    if (found === undefined) throw new Error(`no approval ${approvalId}`);
    return found;
  }

  async end(
    how: { type: "task.completed" } | { type: "task.canceled"; by: string; reason?: string } = {
      type: "task.completed",
    },
  ): Promise<void> {
    await this.#close();
    const body = { ...how, usage: noUsage, state_hash: "" };
    // Computes the hash of the state after the event, which contains it.
    const after = new Reducer(this.#reducer.state);
    after.apply({ ...body, task_id: this.id, sequence_number: after.head + 1 });
    await this.emit({ ...body, state_hash: computeStateHash(buildTaskView(after.state)) });
    this.#tasks.forget(this.id);
  }

  async #open() {
    if (this.#message !== undefined) return this.#message;
    const index = this.#reducer.state.tasks[this.id]?.output.length ?? 0;
    const message = { id: newId("msg"), index, text: "" };
    this.#message = message;
    await this.emit(
      {
        type: "task.output_item.added",
        output_index: index,
        item: { type: "message", id: message.id, role: "assistant", block_list: [] },
      },
      { type: "task.text.added", ...toPosition(message), item: { type: "text", text: "" } },
    );
    return message;
  }

  async #close(): Promise<void> {
    const message = this.#message;
    if (message === undefined) return;
    this.#message = undefined;
    const { id, index, text } = message;
    const item = { type: "text" as const, text };
    await this.emit(
      { type: "task.text.done", ...toPosition(message), item },
      {
        type: "task.output_item.done",
        output_index: index,
        item: { type: "message", id, role: "assistant", block_list: [item] },
      },
    );
  }
}

function toPosition({ id, index }: { id: string; index: number }) {
  return { item_id: id, output_index: index, block_index: 0 };
}

export function createTaskInfo(taskId: string, sessionId?: string) {
  return {
    root_task_id: taskId,
    attempt: 1,
    depth: 0,
    agent: "a",
    model: "m",
    status: "created" as const,
    limits: {},
    created_at: "2026-01-01T00:00:00.000Z",
    protocol_version: "1.0",
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
  };
}
