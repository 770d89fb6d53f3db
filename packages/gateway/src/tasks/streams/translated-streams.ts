import type { ServerResponse } from "node:http";
import { Ticker } from "../../upstream/ticker.ts";
import { EventConnection } from "./event-connection.ts";
import type { StreamContext } from "./open-connections.ts";
import { createTaskNotFoundError } from "../task-errors.ts";
import type { TaskService } from "../task-service.ts";
import { TranslatedTaskWriter, type TaskTranslator } from "./translated-task-writer.ts";

/** Streams of tasks that are translated to another protocol, with one timer for all of them. */
export class TranslatedStreams {
  readonly #tasks: TaskService;
  readonly #ticker: Ticker;
  readonly #resumableResponses = new Set<ServerResponse>();

  constructor(tasks: TaskService, tickMs?: number) {
    this.#tasks = tasks;
    this.#ticker = new Ticker(tickMs);
  }

  /**
   * Resolves when the stream has ended. `isResumable`: the client can find the task again, so the stream is closed immediately
   * when the gateway stops.
   */
  async stream(
    context: StreamContext,
    rootTaskId: string,
    translator: TaskTranslator,
    { isResumable }: { isResumable: boolean },
  ): Promise<void> {
    const { response, signal } = context;
    const connection = new EventConnection(response, this.#ticker, () => {
      context.firstByteAt = performance.now();
    });
    const writer = new TranslatedTaskWriter(
      this.#tasks.createFeed(rootTaskId),
      translator,
      connection,
    );
    // The server may have ended the response with an error, which must be sent.
    const disconnect = (): void => {
      if (!response.writableEnded) response.destroy();
    };
    try {
      if (!(await writer.loadHead())) throw createTaskNotFoundError(rootTaskId);
      if (isResumable) this.#resumableResponses.add(response);
      signal.addEventListener("abort", disconnect, { once: true });
      await connection.serve([writer]);
    } finally {
      signal.removeEventListener("abort", disconnect);
      this.#resumableResponses.delete(response);
      writer.release();
    }
  }

  /** Translates a task without sending anything. Resolves when the translator is done or the signal is aborted. */
  async runToEnd(
    rootTaskId: string,
    translator: TaskTranslator,
    signal: AbortSignal,
  ): Promise<void> {
    let wake = (): void => undefined;
    const nullConnection = { canWrite: true, write: () => undefined, wake: () => wake() };
    const writer = new TranslatedTaskWriter(
      this.#tasks.createFeed(rootTaskId),
      translator,
      nullConnection,
    );
    const onAbort = (): void => wake();
    signal.addEventListener("abort", onAbort);
    try {
      if (!(await writer.loadHead())) throw createTaskNotFoundError(rootTaskId);
      while (!writer.isDone && !signal.aborted)
        if (writer.isBehind) await writer.writeNext();
        else await new Promise<void>((resolve) => (wake = resolve));
    } finally {
      signal.removeEventListener("abort", onAbort);
      writer.release();
    }
  }

  /** Destroys the connections of resumable streams: a normal end would mean that the reply is complete. */
  close(): void {
    for (const response of this.#resumableResponses) response.destroy();
  }
}
