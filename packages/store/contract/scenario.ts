import assert from "node:assert/strict";
import type { LogEntry, StoreErrorCode, TaskEvent, TaskEventBody } from "@deltawire/tasks";
import type { JsonObject, TaskInfo } from "@deltawire/tasks";
import type { Store } from "@deltawire/store";

/** A new, empty store for one check. `reopen` closes it and opens the same again. */
export type OpenForCheck = () => Promise<{
  store: Store;
  reopen: () => Promise<Store>;
  close: () => Promise<void>;
}>;

/** A sentence that holds for every store, and how to see that it does. */
export interface StoreCheck {
  name: string;
  run: () => Promise<void>;
}

export type Scenarios = Record<
  string,
  (store: Store, reopen: () => Promise<Store>) => Promise<void>
>;

export function checksOf(scenarios: Scenarios, open: OpenForCheck): StoreCheck[] {
  return Object.entries(scenarios).map(([name, scenario]) => ({
    name,
    run: async () => {
      const opened = await open();
      try {
        await scenario(opened.store, opened.reopen);
      } finally {
        await opened.close();
      }
    },
  }));
}

export function entry(
  taskId: string,
  sequenceNumber: number,
  body: TaskEventBody,
  hidden?: JsonObject,
): LogEntry {
  const event: TaskEvent = { task_id: taskId, sequence_number: sequenceNumber, ...body };
  const json = JSON.stringify(event);
  return hidden === undefined ? { event, json } : { event, json, private: hidden };
}

export function created(
  taskId: string,
  sequenceNumber = 0,
  more: Partial<TaskInfo> = {},
): LogEntry {
  const task: TaskInfo = {
    root_task_id: taskId,
    attempt: 1,
    depth: 0,
    agent: "helper",
    model: "demo",
    status: "created",
    limits: {},
    created_at: "2026-01-02T03:04:05.000Z",
    protocol_version: "1.0",
    ...more,
  };
  return entry(taskId, sequenceNumber, { type: "task.created", task });
}

export function warning(taskId: string, sequenceNumber: number, message = "slow"): LogEntry {
  return entry(taskId, sequenceNumber, { type: "task.warning", code: "retry", message });
}

export function completed(taskId: string, sequenceNumber: number): LogEntry {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return entry(taskId, sequenceNumber, { type: "task.completed", usage, state_hash: "" });
}

export async function numbersOf(store: Store, rootTaskId: string): Promise<number[]> {
  const rows = await store.read(rootTaskId, -1, 1_000_000);
  return rows.map((row) => row.sequence_number);
}

export async function assertRejects(work: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof Error && "code" in error, "it rejects with a coded error");
    assert.equal(error.code, code);
    return true;
  });
}

export const durable = { durable: true };
export const notDurable = { durable: false };
