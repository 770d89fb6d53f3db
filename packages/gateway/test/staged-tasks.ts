import type { Decided, Listener, TaskRequest } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import {
  Reducer,
  stateHash,
  taskView,
  type InputItem,
  type LogEntry,
  type TaskApproval,
  type TaskEvent,
  type TaskEventBody,
  type TaskTree,
  type Usage,
} from "@deltawire/tasks";
import { newId } from "../src/new-id.ts";
import type { TaskRuntime } from "../src/tasks/task-runtime.ts";

const noUsage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

/** A runtime whose tasks do what a test says, event by event. What it tells of is in the store before. */
export class StagedTasks implements TaskRuntime {
  readonly store: Store;
  readonly started: TaskRequest[] = [];
  readonly listeners = new Map<string, Set<Listener>>();
  readonly #tasks = new Map<string, StagedTask>();
  /** What the next start fails with. */
  failure: Error | undefined;

  constructor(store: Store) {
    this.store = store;
  }

  async start(request: TaskRequest, taskId = newId("task")): Promise<string> {
    if (this.failure !== undefined) throw this.failure;
    this.started.push(request);
    const task = new StagedTask(this, taskId);
    this.#tasks.set(taskId, task);
    await task.emit(
      { type: "task.created", task: infoOf(taskId, request.session_id) },
      { type: "task.working" },
    );
    return taskId;
  }

  /** One that a test works on. */
  async task(): Promise<StagedTask> {
    return this.of(await this.start({ model: "m", input: "Go" }));
  }

  of(taskId: string): StagedTask {
    const task = this.#tasks.get(taskId);
    if (task === undefined) throw new Error(`no task ${taskId} is staged`);
    return task;
  }

  /** The process that ran it is gone, or it has ended. */
  forget(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  live(rootTaskId: string): TaskTree | undefined {
    return this.#tasks.get(rootTaskId)?.kept;
  }

  async contents(rootTaskId: string) {
    return { state: this.of(rootTaskId).kept, contentOf: () => undefined };
  }

  progress(): never[] {
    return [];
  }

  subscribe(rootTaskId: string, listener: Listener): () => void {
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

  async decide(...[approvalId, resolution]: Parameters<TaskRuntime["decide"]>): Promise<Decided> {
    const root = await this.store.rootOfApproval(approvalId);
    const task = root === undefined ? undefined : this.#tasks.get(root);
    if (task === undefined) return { is: "unknown" };
    const approval = task.approval(approvalId);
    if (approval.status !== "pending") return { is: "late", approval };
    if (!approval.choices.includes(resolution.decision))
      return { is: "invalid", message: `decision: expected one of ${approval.choices.join(", ")}` };
    await task.emit({
      type: "task.approval.resolved",
      approval_id: approvalId,
      scope: "once",
      ...resolution,
    });
    return { is: "resolved", approval: task.approval(approvalId) };
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

  async #running(taskId: string): Promise<StagedTask | "ended" | "unknown"> {
    const root = await this.store.rootOf(taskId);
    if (root === undefined) return "unknown";
    return this.#tasks.get(root) ?? "ended";
  }
}

export class StagedTask {
  readonly id: string;
  readonly #tasks: StagedTasks;
  readonly #reducer = new Reducer();
  #message: { id: string; index: number; text: string } | undefined;
  #keeping: Promise<void> = Promise.resolve();
  kept: TaskTree;

  constructor(tasks: StagedTasks, id: string) {
    this.#tasks = tasks;
    this.id = id;
    this.kept = this.#reducer.state;
  }

  /** One batch: kept first, then told. */
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
    await this.#tasks.store.append(this.id, entries, { durable: false });
    this.kept = state;
    for (const listener of this.#tasks.listeners.get(this.id) ?? []) listener(entries, state);
  }

  /** Words of a message, one event and one batch each unless told otherwise. */
  async say(words: readonly string[], { batch = 1 } = {}): Promise<void> {
    const message = await this.#open();
    for (let at = 0; at < words.length; at += batch) {
      const deltas = words.slice(at, at + batch).map((delta): TaskEventBody => {
        message.text += delta;
        return { type: "task.text.delta", ...placeOf(message), delta };
      });
      await this.emit(...deltas);
    }
  }

  async ask(approvalId: string): Promise<void> {
    await this.emit({
      type: "task.approval.requested",
      approval: { approval_id: approvalId, kind: "call", choices: ["approve", "deny"] },
    });
  }

  approval(approvalId: string): TaskApproval {
    const found = this.#reducer.state.approvals.find((each) => each.approval_id === approvalId);
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
    // What the view will be, its hash told by the event that makes it so.
    const after = new Reducer(this.#reducer.state);
    after.apply({ ...body, task_id: this.id, sequence_number: after.head + 1 });
    await this.emit({ ...body, state_hash: stateHash(taskView(after.state)) });
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
      { type: "task.text.added", ...placeOf(message), item: { type: "text", text: "" } },
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
      { type: "task.text.done", ...placeOf(message), item },
      {
        type: "task.output_item.done",
        output_index: index,
        item: { type: "message", id, role: "assistant", block_list: [item] },
      },
    );
  }
}

function placeOf({ id, index }: { id: string; index: number }) {
  return { item_id: id, output_index: index, block_index: 0 };
}

export function infoOf(taskId: string, sessionId?: string) {
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
