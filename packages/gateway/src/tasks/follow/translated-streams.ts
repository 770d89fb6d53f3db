import type { ServerResponse } from "node:http";
import { Heartbeat } from "../../upstream/heartbeat.ts";
import { EventConnection } from "./event-connection.ts";
import type { StreamCall } from "./open-connections.ts";
import { taskNotFound } from "../task-problem.ts";
import type { TaskService } from "../task-service.ts";
import { TranslatedTask, type TaskTranslator } from "./translated-task.ts";

/** Everybody who is told of a task in the words of another protocol: one timer for all of them. */
export class TranslatedStreams {
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
    call: StreamCall,
    rootTaskId: string,
    translator: TaskTranslator,
    { comesBack }: { comesBack: boolean },
  ): Promise<void> {
    const { response, signal } = call;
    const connection = new EventConnection(response, this.#heartbeat, () => {
      call.firstByteAt = performance.now();
    });
    const translated = new TranslatedTask(this.#tasks.feed(rootTaskId), translator, connection);
    const leave = (): void => void response.destroy();
    try {
      if (!(await translated.find())) throw taskNotFound(rootTaskId);
      if (comesBack) this.#returning.add(response);
      signal.addEventListener("abort", leave, { once: true });
      await connection.serve([translated]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#returning.delete(response);
      translated.release();
    }
  }

  /** Resolves when all has been told, or when nobody listens any more. */
  async whole(rootTaskId: string, translator: TaskTranslator, signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    const nowhere = { takesMore: true, write: () => undefined, wake: () => wake() };
    const translated = new TranslatedTask(this.#tasks.feed(rootTaskId), translator, nowhere);
    const leave = (): void => wake();
    signal.addEventListener("abort", leave);
    try {
      if (!(await translated.find())) throw taskNotFound(rootTaskId);
      while (!translated.isOver && !signal.aborted)
        if (translated.isBehind) await translated.step();
        else await new Promise<void>((resolve) => (wake = resolve));
    } finally {
      signal.removeEventListener("abort", leave);
      translated.release();
    }
  }

  /** Breaks the streams of those who come back: an end would be the end of what they are told. */
  close(): void {
    for (const response of this.#returning) response.destroy();
  }
}
