import {
  hasEnded,
  statusFromEventType,
  buildTaskView,
  type ContentPart,
  type TaskEvent,
  type TaskLog,
  type BlobStore,
  type TaskView,
} from "@deltawire/tasks";
import type { Agent } from "./agent.ts";
import { MemoryBlobs } from "./blobs/memory-blobs.ts";
import type { DecisionResult } from "./approvals/decisions.ts";
import { MemoryLog } from "./log/memory-log.ts";
import type { Model } from "./model.ts";
import { Runtime } from "./runtime.ts";
import { RuntimeError } from "./runtime-error.ts";
import type { TaskRequest } from "./task-request.ts";
import type { ModelPrice } from "./task/usage.ts";

export interface RunTaskOptions extends Omit<TaskRequest, "agent" | "model" | "input"> {
  /** Returns the model with this name, for agents whose model is a name. */
  getModel?: (name: string) => Model;
  /** Returns the price of a model. Required for a cost limit and for costs in the usage. */
  getPrice?: (model: string) => ModelPrice | undefined;
  log?: TaskLog;
  blobs?: BlobStore;
  signal?: AbortSignal;
}

/** A running task. Iterate it for its events, each as soon as it is stored. */
export interface RunningTask extends AsyncIterable<TaskEvent> {
  readonly taskId: string;
  /** Resolves with the complete task when it has ended, even if it failed or was canceled. */
  readonly result: Promise<TaskView>;
  decide: Runtime["decide"];
  cancel(reason?: string): Promise<void>;
}

/** Runs an agent in this process. Stores everything in memory unless `log` and `blobs` are given. */
export async function runTask(
  agent: Agent,
  input: string | readonly ContentPart[],
  options: RunTaskOptions = {},
): Promise<RunningTask> {
  const { getModel = throwUnknownModel, getPrice, signal, ...rest } = options;
  const { log = new MemoryLog(), blobs = new MemoryBlobs(), ...request } = rest;
  const runtime = new Runtime({
    log,
    blobs,
    agentFor: () => agent,
    getModel,
    ...(getPrice && { getPrice }),
  });
  const taskId = await runtime.start({ ...request, agent: agent.name, input });
  // If the log cannot be read or written, `result` and the event iterator fail too.
  const stop = (): void => void runtime.cancel(taskId, "signal").catch(() => undefined);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  const follow = (): AsyncIterable<TaskEvent> => streamTaskEvents(runtime, log, taskId);
  const result = (async () => {
    for await (const event of follow()) if (isTaskEnd(event, taskId)) break;
    signal?.removeEventListener("abort", stop);
    return buildTaskView(await runtime.state(taskId));
  })();
  // Callers that only read the events get the error from the iterator.
  result.catch(() => undefined);
  return {
    taskId,
    result,
    decide: (...decision): Promise<DecisionResult> => runtime.decide(...decision),
    cancel: async (reason) => void (await runtime.cancel(taskId, "user", reason)),
    [Symbol.asyncIterator]: () => follow()[Symbol.asyncIterator](),
  };
}

function throwUnknownModel(name: string): never {
  throw new RuntimeError(
    "unknown_model",
    `unknown model "${name}": give the agent a model object, or pass the option getModel to runTask`,
  );
}

/** Yields the events in the log and then new ones, until the task has ended. */
async function* streamTaskEvents(
  runtime: Runtime,
  log: TaskLog,
  taskId: string,
): AsyncGenerator<TaskEvent> {
  let wake: (() => void) | undefined;
  let notifications = 0;
  const unsubscribe = runtime.subscribe(taskId, () => {
    notifications += 1;
    wake?.();
  });
  try {
    for (let after = -1; ;) {
      const notificationsBeforeRead = notifications;
      const rows = await log.read(taskId, after, 1000);
      for (const { json, sequence_number } of rows) {
        const event = JSON.parse(json) as TaskEvent;
        after = sequence_number;
        yield event;
        if (isTaskEnd(event, taskId)) return;
      }
      if (rows.length > 0 || notifications > notificationsBeforeRead) continue;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
  }
}

function isTaskEnd({ type, task_id }: TaskEvent, taskId: string): boolean {
  return task_id === taskId && hasEnded(statusFromEventType(type));
}
