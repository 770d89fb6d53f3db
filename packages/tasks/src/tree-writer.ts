import { TaskError } from "./error.ts";
import { protocolVersion, type TaskEvent, type TaskEventBody } from "./events.ts";
import type { TaskLimits } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { TaskTree } from "./state.ts";
import { TaskWriter, type TreeWriterOptions } from "./task-writer.ts";
import { LogValidator } from "./validator.ts";

/** The fields of `task.created`, except those that the writer adds. */
export interface NewTaskInfo {
  root_task_id: string;
  parent_task_id?: string;
  parent_call_id?: string;
  attempt: number;
  depth: number;
  session_id?: string;
  agent: string;
  model: string;
  limits: TaskLimits;
  [field: string]: JsonValue | TaskLimits | JsonObject | undefined;
}

/**
 * Writes the log of a root task and all tasks below it. Every event is validated before it is emitted: an event that would break
 * an invariant is not written and throws a TaskError with the code "invalid_event".
 */
export class TreeWriter {
  readonly #options: TreeWriterOptions;
  readonly #validator: LogValidator;

  constructor(options: TreeWriterOptions, from?: TaskTree) {
    this.#options = options;
    const { sha256 } = options;
    this.#validator = new LogValidator({
      checkHashes: false,
      ...(from === undefined ? {} : { from }),
      ...(sha256 === undefined ? {} : { sha256 }),
    });
  }

  /** The state after all emitted events. */
  get state(): TaskTree {
    return this.#validator.state;
  }

  create(taskId: string, info: NewTaskInfo, privateData?: JsonObject): TaskWriter {
    const created_at = this.#options.now();
    const task = {
      ...info,
      status: "created" as const,
      created_at,
      protocol_version: protocolVersion,
    };
    this.write(taskId, { type: "task.created", task }, privateData);
    return this.task(taskId);
  }

  /** Returns the writer of an existing task. */
  task(taskId: string): TaskWriter {
    const trackedTask = this.#validator.validatorState.tasks.get(taskId);
    if (trackedTask === undefined) throw new TaskError("invalid_event", `unknown task ${taskId}`);
    return new TaskWriter(this, this.#options, trackedTask, this.#validator.validatorState);
  }

  write(taskId: string, body: TaskEventBody, privateData?: JsonObject): void {
    const { type } = body;
    const sequence_number = this.#validator.validatorState.head + 1;
    const envelope = { type, task_id: taskId, sequence_number };
    const event: TaskEvent = type.endsWith(".delta")
      ? Object.assign(envelope, body)
      : Object.assign(envelope, { ts: this.#options.now() }, body);
    const violation = this.#validator.check(event);
    if (violation !== undefined)
      throw new TaskError("invalid_event", `${type}: ${violation.message} (${violation.rule})`);
    const json = JSON.stringify(event);
    this.#options.emit(
      privateData === undefined ? { event, json } : { event, json, private: privateData },
    );
  }
}
