import { encodeTaskEvent, type StreamEvent } from "@deltawire/tasks";
import type { Problem } from "../../problem.ts";
import type { EventConnection, StreamSource } from "./event-connection.ts";

/** A task that cannot be followed, on a connection that is worth keeping without it: its reader is told so, once. */
export class RefusedTask implements StreamSource {
  readonly #event: StreamEvent;
  readonly #connection: Pick<EventConnection, "write">;
  #isTold = false;

  constructor(
    { taskId, problem }: { taskId: string; problem: Problem },
    connection: Pick<EventConnection, "write">,
  ) {
    const { code, message } = problem;
    this.#event = { type: "task.stream.refused", task_id: taskId, code, message };
    this.#connection = connection;
  }

  get isBehind(): boolean {
    return !this.#isTold;
  }

  get isOver(): boolean {
    return this.#isTold;
  }

  async step(): Promise<void> {
    this.#connection.write(encodeTaskEvent(JSON.stringify(this.#event), undefined));
    this.#isTold = true;
  }

  sign(): string {
    return "";
  }
}
