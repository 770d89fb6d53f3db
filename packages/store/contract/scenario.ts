import assert from "node:assert/strict";
import type { LogEntry, StoreErrorCode, TaskEvent, TaskEventBody } from "@deltawire/tasks";
import type { JsonObject, TaskInfo } from "@deltawire/tasks";
import type { Store } from "@deltawire/store";

/** Opens a new, empty store for one check. `reopen` closes and reopens it. */
export type OpenForCheck = () => Promise<{
  store: Store;
  reopen: () => Promise<Store>;
  close: () => Promise<void>;
}>;

/** A named check of a store. */
export interface StoreCheck {
  name: string;
  run: () => Promise<void>;
}

export type StoreScenarios = Record<
  string,
  (store: Store, reopen: () => Promise<Store>) => Promise<void>
>;

export function buildChecks(scenarios: StoreScenarios, open: OpenForCheck): StoreCheck[] {
  return Object.entries(scenarios).map(([name, scenario]) => ({
    name,
    run: async () => {
      const testStore = await open();
      try {
        await scenario(testStore.store, testStore.reopen);
      } finally {
        await testStore.close();
      }
    },
  }));
}

/** Builds a log entry from the type-specific fields of an event. */
export function createEntry(
  taskId: string,
  sequenceNumber: number,
  body: TaskEventBody,
  privateData?: JsonObject,
): LogEntry {
  const event: TaskEvent = { task_id: taskId, sequence_number: sequenceNumber, ...body };
  const json = JSON.stringify(event);
  return privateData === undefined ? { event, json } : { event, json, private: privateData };
}

export function taskCreatedEntry(
  taskId: string,
  sequenceNumber = 0,
  overrides: Partial<TaskInfo> = {},
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
    ...overrides,
  };
  return createEntry(taskId, sequenceNumber, { type: "task.created", task });
}

export function warningEntry(taskId: string, sequenceNumber: number, message = "slow"): LogEntry {
  return createEntry(taskId, sequenceNumber, { type: "task.warning", code: "retry", message });
}

export function taskCompletedEntry(taskId: string, sequenceNumber: number): LogEntry {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return createEntry(taskId, sequenceNumber, { type: "task.completed", usage, state_hash: "" });
}

export async function readSequenceNumbers(store: Store, rootTaskId: string): Promise<number[]> {
  const rows = await store.read(rootTaskId, -1, 1_000_000);
  return rows.map((row) => row.sequence_number);
}

export async function assertRejects(
  operation: Promise<unknown>,
  code: StoreErrorCode,
): Promise<void> {
  await assert.rejects(operation, (error) => {
    assert.ok(error instanceof Error && "code" in error, "the error has a code");
    assert.equal(error.code, code);
    return true;
  });
}

export const durable = { durable: true };
export const notDurable = { durable: false };
