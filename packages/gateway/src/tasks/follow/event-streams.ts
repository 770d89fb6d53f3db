import { Problem } from "../../http/problem.ts";
import type { Call } from "../../http/call.ts";
import { Heartbeat } from "../../relay/heartbeat.ts";
import { streamHeaders } from "../../relay/receiver.ts";
import { cursorVector, type Cursor } from "./cursors.ts";
import { EventConnection, silences } from "./event-connection.ts";
import { TaskFollower } from "./task-follower.ts";
import type { TaskService } from "../task-service.ts";
import { taskNotFound } from "../task-problem.ts";

/** How a stream was asked for. */
export interface StreamRequest {
  cursors: readonly Cursor[];
  /** Whether ids hold the cursors of all tasks, not the number alone. */
  several: boolean;
  replayAll: boolean;
  /** Whether the client came back by itself, as an EventSource does whenever a stream ends. */
  cameBack: boolean;
}

/** Everybody who follows tasks: one timer for all of them. */
export class EventStreams {
  readonly #tasks: TaskService;
  readonly #heartbeat: Heartbeat;
  readonly #heartbeatMs: number;
  readonly #open = new Set<EventConnection>();
  #isClosed = false;

  constructor(tasks: TaskService, beatMs = 1000) {
    this.#tasks = tasks;
    this.#heartbeat = new Heartbeat(beatMs);
    this.#heartbeatMs = silences.quiet * beatMs;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Resolves when the stream has ended, whoever ended it. The task goes on in any case. */
  async serve(call: Call, asked: StreamRequest): Promise<void> {
    const { request, response, signal } = call;
    const connection = new EventConnection(response, this.#heartbeat, () => {
      call.firstByteAt = performance.now();
    });
    const followers = this.#followersOf(asked, connection);
    const leave = (): void => void response.destroy();
    try {
      const found = await Promise.all(followers.map((each) => each.find()));
      const missing = asked.cursors[found.indexOf(false)];
      if (missing !== undefined) throw taskNotFound(missing.taskId);
      if (asked.cameBack && followers.every(({ isOverBefore }) => isOverBefore))
        // The only thing that keeps an EventSource from asking for ever.
        return void response.writeHead(204).end();
      if (request.method === "HEAD") return void response.writeHead(200, streamHeaders).end();
      if (this.#isClosed) throw new Problem("shutting_down", "the gateway is shutting down");
      this.#open.add(connection);
      signal.addEventListener("abort", leave, { once: true });
      await connection.serve(followers);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#open.delete(connection);
      for (const each of followers) each.release();
    }
  }

  /** Ends all streams, and begins no more. Their readers come back to whoever serves the tasks next. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#open) connection.close();
  }

  #followersOf(asked: StreamRequest, connection: EventConnection): TaskFollower[] {
    const { cursors, several, replayAll } = asked;
    const followers = cursors.map(({ taskId, after }): TaskFollower => {
      const idOf = several ? (number: number) => vectorWith(taskId, number) : plain;
      const options = { after, replayAll, heartbeatMs: this.#heartbeatMs, idOf };
      return new TaskFollower(this.#tasks.feed(taskId), options, connection);
    });
    const vectorWith = (taskId: string, number: number): string =>
      cursorVector(
        cursors.map((each, index) => ({
          taskId: each.taskId,
          after: each.taskId === taskId ? number : followers[index]?.cursor,
        })),
      );
    return followers;
  }
}

const plain = (number: number): number => number;
