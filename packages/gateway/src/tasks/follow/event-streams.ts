import type { Call } from "../../http/call.ts";
import { cursorVector, type Cursor } from "./cursors.ts";
import type { EventConnection } from "./event-connection.ts";
import { OpenConnections } from "./open-connections.ts";
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

/** Everybody who follows tasks. */
export class EventStreams {
  readonly #tasks: TaskService;
  readonly #connections: OpenConnections;

  constructor(tasks: TaskService, beatMs?: number) {
    this.#tasks = tasks;
    this.#connections = new OpenConnections(beatMs);
  }

  get count(): number {
    return this.#connections.count;
  }

  /** Resolves when the stream has ended, whoever ended it. The task goes on in any case. */
  async serve(call: Call, asked: StreamRequest): Promise<void> {
    const connection = this.#connections.of(call);
    const followers = this.#followersOf(asked, connection);
    try {
      const found = await Promise.all(followers.map((each) => each.find()));
      const missing = asked.cursors[found.indexOf(false)];
      if (missing !== undefined) throw taskNotFound(missing.taskId);
      if (asked.cameBack && followers.every(({ isOverBefore }) => isOverBefore))
        // The only thing that keeps an EventSource from asking for ever.
        return void call.response.writeHead(204).end();
      await this.#connections.serve(call, connection, followers);
    } finally {
      for (const each of followers) each.release();
    }
  }

  /** Ends all streams, and begins no more. Their readers come back to whoever serves the tasks next. */
  close(): void {
    this.#connections.close();
  }

  #followersOf(asked: StreamRequest, connection: EventConnection): TaskFollower[] {
    const { cursors, several, replayAll } = asked;
    const followers = cursors.map(({ taskId, after }): TaskFollower => {
      const idOf = several ? (number: number) => vectorWith(taskId, number) : plain;
      const options = { after, replayAll, heartbeatMs: this.#connections.heartbeatMs, idOf };
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
