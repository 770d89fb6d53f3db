import { encodeTaskEvent, type StreamEvent } from "@deltawire/tasks";
import type { GatewayError } from "../../gateway-error.ts";
import type { EventConnection, StreamSource } from "./event-connection.ts";

/** Reports once that a task cannot be followed, on a connection that stays open for the other tasks. */
export class RejectedTaskWriter implements StreamSource {
  readonly #event: StreamEvent;
  readonly #connection: Pick<EventConnection, "write">;
  #isWritten = false;

  constructor(
    { taskId, problem }: { taskId: string; problem: GatewayError },
    connection: Pick<EventConnection, "write">,
  ) {
    const { code, message } = problem;
    this.#event = { type: "task.stream.rejected", task_id: taskId, code, message };
    this.#connection = connection;
  }

  get isBehind(): boolean {
    return !this.#isWritten;
  }

  get isDone(): boolean {
    return this.#isWritten;
  }

  async writeNext(): Promise<void> {
    this.#connection.write(encodeTaskEvent(JSON.stringify(this.#event), undefined));
    this.#isWritten = true;
  }

  formatKeepAlive(): string {
    return "";
  }
}
