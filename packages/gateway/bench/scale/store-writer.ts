/*
 * Appends events to a store in a separate process, with leases as the runtime does, but without models and HTTP. Its parent sends
 * `StoreWriterOrder`s; it answers each with the number of stored events.
 */
import { openStore, type Store } from "@deltawire/store";
import type { LogEntry, TaskEvent } from "@deltawire/tasks";

export interface StoreWriterOptions {
  /** A PostgreSQL database, or the path of a SQLite file. */
  url?: string;
  path?: string;
  name: string;
}

export type StoreWriterOrder = { open: StoreWriterOptions } | { tasks: number; ms: number };

const batchSize = 20;
const leaseMs = 600_000;
let store: Store | undefined;
let processId = "";
let taskCount = 0;

process.on("message", (order: StoreWriterOrder) => {
  void (async () => {
    if (!("open" in order)) process.send?.({ events: await write(order.tasks, order.ms) });
    else {
      const { url, path, name } = order.open;
      processId = name;
      store = await openStore(url === undefined ? { path: path ?? "" } : { url, exclusive: false });
      await store.renewLease(processId, leaseMs);
      process.send?.({ isOpen: true });
    }
  })();
});
process.on("disconnect", () => process.exit());

/** Returns how many events all tasks together have stored, each awaiting its previous batch. */
async function write(tasks: number, ms: number): Promise<number> {
  const endsAt = performance.now() + ms;
  let events = 0;
  await Promise.all(
    Array.from({ length: tasks }, async () => {
      taskCount += 1;
      const task = `task_${processId}_${taskCount}`;
      await append(task, 0, 1);
      for (let first = 1; performance.now() < endsAt; first += batchSize) {
        await append(task, first, batchSize);
        events += batchSize;
      }
    }),
  );
  return events;
}

async function append(task: string, first: number, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, index): LogEntry => {
    const event = buildEvent(task, first + index);
    return { event, json: JSON.stringify(event) };
  });
  await store?.append(task, entries, { durable: first === 0, lease: { processId, epoch: 1 } });
}

function buildEvent(task: string, number: number): TaskEvent {
  const common = { task_id: task, sequence_number: number };
  if (number > 0)
    return { type: "task.warning", ...common, code: "retry", message: "x".repeat(150) };
  const info = { root_task_id: task, attempt: 1, depth: 0, agent: "a", model: "m", limits: {} };
  const created = { created_at: "2026-01-02T03:04:05Z", protocol_version: "1.0" };
  return { type: "task.created", ...common, task: { ...info, ...created, status: "created" } };
}
