import { TaskError } from "./error.ts";
import { protocolVersion, type TaskEvent, type TaskEventBody } from "./events.ts";
import type { Limits } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { TaskTree } from "./state.ts";
import { TaskWriter, type TreeWriterOptions } from "./task-writer.ts";
import { LogValidator } from "./validator.ts";

/** What `task.created` tells beside what the writer knows. */
export interface NewTask {
  root_task_id: string;
  parent_task_id?: string;
  parent_call_id?: string;
  attempt: number;
  depth: number;
  session_id?: string;
  agent: string;
  model: string;
  limits: Limits;
  [more: string]: JsonValue | Limits | JsonObject | undefined;
}

/**
 * Writes the log of a root task and all below it. Every event passes the validator before it is emitted: what would
 * break an invariant throws "illegal_event", and nothing is written then.
 */
export class TreeWriter {
  readonly #options: TreeWriterOptions;
  readonly #validator: LogValidator;

  constructor(options: TreeWriterOptions, from?: TaskTree) {
    this.#options = options;
    const { sha256 } = options;
    this.#validator = new LogValidator({
      hashes: false,
      ...(from === undefined ? {} : { from }),
      ...(sha256 === undefined ? {} : { sha256 }),
    });
  }

  /** The reduction of all that was emitted. */
  get state(): TaskTree {
    return this.#validator.state;
  }

  create(taskId: string, info: NewTask, priv?: JsonObject): TaskWriter {
    const created_at = this.#options.now();
    const task = {
      ...info,
      status: "created" as const,
      created_at,
      protocol_version: protocolVersion,
    };
    this.write(taskId, { type: "task.created", task }, priv);
    return this.task(taskId);
  }

  /** The writer of a task that exists. */
  task(taskId: string): TaskWriter {
    const notes = this.#validator.notes.tasks.get(taskId);
    if (notes === undefined) throw new TaskError("illegal_event", `there is no task ${taskId}`);
    return new TaskWriter(this, this.#options, notes, this.#validator.notes);
  }

  write(taskId: string, body: TaskEventBody, priv?: JsonObject): void {
    const { type } = body;
    const sequence_number = this.#validator.notes.head + 1;
    const head = { type, task_id: taskId, sequence_number };
    const event: TaskEvent = type.endsWith(".delta")
      ? Object.assign(head, body)
      : Object.assign(head, { ts: this.#options.now() }, body);
    const broken = this.#validator.check(event);
    if (broken !== undefined)
      throw new TaskError("illegal_event", `${type}: ${broken.message} (${broken.rule})`);
    const json = JSON.stringify(event);
    this.#options.emit(priv === undefined ? { event, json } : { event, json, private: priv });
  }
}
