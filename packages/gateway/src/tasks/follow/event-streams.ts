import { ChatFollower, type ChatFeed } from "./chat-follower.ts";
import type { Problem } from "../../problem.ts";
import { invalid } from "../../parse-body.ts";
import type { TaskService } from "../task-service.ts";
import { taskNotFound } from "../task-problem.ts";
import { chatsName, cursorVector, type Cursor, type Standing } from "./cursors.ts";
import type { EventConnection } from "./event-connection.ts";
import { OpenConnections, type StreamCall } from "./open-connections.ts";
import { RefusedTask } from "./refused-task.ts";
import { TaskFollower } from "./task-follower.ts";

/** How a stream was asked for. */
export interface StreamRequest {
  cursors: readonly Cursor[];
  /** The changes of chats are told as well, after this stamp or from now on. Such a stream has no end of its own. */
  chats?: { after: number | undefined } | undefined;
  /** Named, and not to be followed: only the reader of a stream that has no end is told so in it. */
  refused?: readonly { taskId: string; problem: Problem }[];
  /** Whether ids hold the cursors of all that is followed, not the number alone. */
  several: boolean;
  replayAll: boolean;
  /** Whether the client came back by itself, as an EventSource does whenever a stream ends. */
  cameBack: boolean;
}

export interface EventStreamsOptions {
  /** Undefined: there are no chats. */
  chats?: ChatFeed | undefined;
  beatMs?: number | undefined;
}

/** Everybody who follows tasks, or tasks and chats. */
export class EventStreams {
  readonly #tasks: TaskService;
  readonly #chats: ChatFeed | undefined;
  readonly #connections: OpenConnections;

  constructor(tasks: TaskService, { chats, beatMs }: EventStreamsOptions = {}) {
    this.#tasks = tasks;
    this.#chats = chats;
    this.#connections = new OpenConnections(beatMs);
  }

  get count(): number {
    return this.#connections.count;
  }

  /** Resolves when the stream has ended, whoever ended it. The task goes on in any case. */
  async serve(call: StreamCall, asked: StreamRequest): Promise<void> {
    const connection = this.#connections.of(call);
    const { chats, tasks } = this.#followersOf(asked, connection);
    const followers = [...(chats === undefined ? [] : [chats]), ...tasks];
    try {
      const found = await Promise.all(tasks.map((each) => each.find()));
      const missing = asked.cursors[found.indexOf(false)];
      if (missing !== undefined) throw taskNotFound(missing.taskId);
      if (asked.cameBack && chats === undefined && tasks.every(({ isOverBefore }) => isOverBefore))
        // The only thing that keeps an EventSource from asking for ever.
        return void call.response.writeHead(204).end();
      const refused = (asked.refused ?? []).map((one) => new RefusedTask(one, connection));
      await this.#connections.serve(call, connection, [...followers, ...refused]);
    } finally {
      for (const each of followers) each.release();
    }
  }

  /** Ends all streams, and begins no more. Their readers come back to whoever serves the tasks next. */
  close(): void {
    this.#connections.close();
  }

  #followersOf(asked: StreamRequest, connection: EventConnection) {
    const { cursors, several, replayAll } = asked;
    const { heartbeatMs } = this.#connections;
    const standing = new Map<string, Standing>();
    const idsOf = (name: string) =>
      several ? (number: number) => cursorVector(standing, name, number) : plain;
    const chats = asked.chats && this.#chatFollower(asked.chats, idsOf(chatsName), connection);
    if (chats !== undefined) standing.set(chatsName, chats);
    const tasks = cursors.map(({ taskId, after }) => {
      const options = { after, replayAll, heartbeatMs, idOf: idsOf(taskId) };
      const follower = new TaskFollower(this.#tasks.feed(taskId), options, connection);
      standing.set(taskId, follower);
      return follower;
    });
    return { chats, tasks };
  }

  #chatFollower(
    { after }: { after: number | undefined },
    idOf: (stamp: number) => string | number,
    connection: EventConnection,
  ): ChatFollower {
    if (this.#chats === undefined) throw invalid(chatsName, "this gateway keeps no chats");
    const { heartbeatMs } = this.#connections;
    return new ChatFollower(this.#chats, { after, heartbeatMs, idOf }, connection);
  }
}

const plain = (number: number): number => number;
