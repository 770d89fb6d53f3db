import {
  hasEnded,
  statusAfter,
  taskView,
  type ContentPart,
  type TaskEvent,
  type TaskLog,
  type BlobStore,
  type TaskView,
} from "@deltawire/tasks";
import type { Agent } from "./agent.ts";
import { MemoryBlobs } from "./log/blobs.ts";
import type { Decided } from "./approvals/decisions.ts";
import { MemoryLog } from "./log/memory-log.ts";
import type { Model } from "./model.ts";
import { Runtime } from "./runtime.ts";
import { RuntimeError } from "./runtime-error.ts";
import type { TaskRequest } from "./task-request.ts";
import type { Price } from "./task/usage.ts";

export interface RunTaskOptions extends Omit<TaskRequest, "agent" | "model" | "input"> {
  /** For agents whose model is a name. */
  models?: (name: string) => Model;
  /** For a limit of cost, and to be told what it was. */
  price?: (model: string) => Price | undefined;
  log?: TaskLog;
  blobs?: BlobStore;
  signal?: AbortSignal;
}

/** A task at work: its events as they are kept, and what they amount to in the end. */
export interface RunningTask extends AsyncIterable<TaskEvent> {
  readonly taskId: string;
  /** The whole, when the task has ended, however it did. */
  readonly result: Promise<TaskView>;
  decide: Runtime["decide"];
  cancel(reason?: string): Promise<void>;
}

/** Runs an agent in this process, in memory unless it is told otherwise. */
export async function runTask(
  agent: Agent,
  input: string | readonly ContentPart[],
  options: RunTaskOptions = {},
): Promise<RunningTask> {
  const { models, price, signal, ...more } = options;
  const { log = new MemoryLog(), blobs = new MemoryBlobs(), ...request } = more;
  const runtime = new Runtime({
    log,
    blobs,
    agentFor: () => agent,
    model: models ?? noModel,
    ...(price && { price }),
  });
  const taskId = await runtime.start({ ...request, agent: agent.name, input });
  // A log that cannot be read or written tells it to whoever follows the task.
  const stop = (): void => void runtime.cancel(taskId, "signal").catch(() => undefined);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  const follow = (): AsyncIterable<TaskEvent> => eventsOf(runtime, log, taskId);
  const result = (async () => {
    for await (const event of follow()) if (isEnd(event, taskId)) break;
    signal?.removeEventListener("abort", stop);
    return taskView(await runtime.state(taskId));
  })();
  // Whoever only reads the events has been told there.
  result.catch(() => undefined);
  return {
    taskId,
    result,
    decide: (...decision): Promise<Decided> => runtime.decide(...decision),
    cancel: async (reason) => void (await runtime.cancel(taskId, "user", reason)),
    [Symbol.asyncIterator]: () => follow()[Symbol.asyncIterator](),
  };
}

function noModel(name: string): never {
  throw new RuntimeError(
    "unknown_model",
    `nothing says what the model "${name}" is: give the agent a model of its own, or runTask the option models`,
  );
}

/** What is in the log, then what comes, until the task has ended. */
async function* eventsOf(
  runtime: Runtime,
  log: TaskLog,
  taskId: string,
): AsyncGenerator<TaskEvent> {
  let wake: (() => void) | undefined;
  let told = 0;
  const unsubscribe = runtime.subscribe(taskId, () => {
    told += 1;
    wake?.();
  });
  try {
    for (let after = -1; ;) {
      const before = told;
      const rows = await log.read(taskId, after, 1000);
      for (const { json, sequence_number } of rows) {
        const event = JSON.parse(json) as TaskEvent;
        after = sequence_number;
        yield event;
        if (isEnd(event, taskId)) return;
      }
      if (rows.length > 0 || told > before) continue;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
  }
}

function isEnd({ type, task_id }: TaskEvent, taskId: string): boolean {
  return task_id === taskId && hasEnded(statusAfter(type));
}
