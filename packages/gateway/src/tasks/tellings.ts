import type { ServerResponse } from "node:http";
import type { Call } from "../http/call.ts";
import { Heartbeat } from "../relay/heartbeat.ts";
import { EventConnection, type Silences } from "./event-connection.ts";
import { taskNotFound } from "./followers.ts";
import type { TaskService } from "./task-service.ts";
import { ToldTask, type Teller } from "./told-task.ts";

/** As for those who follow a task in its own words. */
const silences: Silences = { quiet: 15, stuck: 60 };

/** Everybody who is told of a task in the words of another protocol: one timer for all of them. */
export class Tellings {
  readonly #tasks: TaskService;
  readonly #heartbeat: Heartbeat;
  readonly #returning = new Set<ServerResponse>();

  constructor(tasks: TaskService, beatMs?: number) {
    this.#tasks = tasks;
    this.#heartbeat = new Heartbeat(beatMs);
  }

  /**
   * Resolves when the stream has ended, whoever ended it. `comesBack`: its reader finds the task again, so that nobody
   * waits for its end when the gateway stops.
   */
  async stream(
    call: Call,
    rootTaskId: string,
    teller: Teller,
    { comesBack }: { comesBack: boolean },
  ): Promise<void> {
    const { response, signal } = call;
    const connection = new EventConnection(response, this.#heartbeat, silences, () => {
      call.firstByteAt = performance.now();
    });
    const told = new ToldTask(this.#tasks.followed(rootTaskId), teller, connection);
    const leave = (): void => void response.destroy();
    try {
      if (!(await told.find())) throw taskNotFound(rootTaskId);
      if (comesBack) this.#returning.add(response);
      signal.addEventListener("abort", leave, { once: true });
      await connection.serve([told]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#returning.delete(response);
      told.release();
    }
  }

  /** Resolves when all has been told, or when nobody listens any more. */
  async whole(rootTaskId: string, teller: Teller, signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    const nowhere = { takesMore: true, write: () => undefined, wake: () => wake() };
    const told = new ToldTask(this.#tasks.followed(rootTaskId), teller, nowhere);
    const leave = (): void => wake();
    signal.addEventListener("abort", leave);
    try {
      if (!(await told.find())) throw taskNotFound(rootTaskId);
      while (!told.isOver && !signal.aborted)
        if (told.isBehind) await told.step();
        else await new Promise<void>((resolve) => (wake = resolve));
    } finally {
      signal.removeEventListener("abort", leave);
      told.release();
    }
  }

  /** Breaks the streams of those who come back: an end would be the end of what they are told. */
  close(): void {
    for (const response of this.#returning) response.destroy();
  }
}
