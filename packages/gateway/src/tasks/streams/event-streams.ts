import { ChatStreamWriter, type ChatFeed } from "./chat-stream-writer.ts";
import type { GatewayError } from "../../gateway-error.ts";
import { invalidRequest } from "../../parse-body.ts";
import type { TaskService } from "../task-service.ts";
import { createTaskNotFoundError } from "../task-errors.ts";
import {
  chatsCursorName,
  formatCursorVector,
  type StreamCursor,
  type CursorHolder,
} from "./cursors.ts";
import type { EventConnection } from "./event-connection.ts";
import { OpenConnections, type StreamContext } from "./open-connections.ts";
import { RejectedTaskWriter } from "./rejected-task-writer.ts";
import { TaskStreamWriter } from "./task-stream-writer.ts";

/** The tasks and chats that a client wants to follow. */
export interface StreamRequest {
  cursors: readonly StreamCursor[];
  /** Also streams chat changes, after this stamp or from now on. Such a stream never ends. */
  chats?: { after: number | undefined } | undefined;
  /** Requested tasks that cannot be followed. They are reported in the stream. */
  rejectedTasks?: readonly { taskId: string; problem: GatewayError }[];
  /** True if event ids contain the positions in all followed tasks and chats, not only the number of the event. */
  usesCursorVector: boolean;
  /** Never send a snapshot to a client that is far behind. */
  replayAll: boolean;
  /** True if the client has reconnected automatically, as an EventSource does whenever a stream ends. */
  isReconnect: boolean;
}

export interface EventStreamsOptions {
  /** Undefined if there are no chats. */
  chats?: ChatFeed | undefined;
  tickMs?: number | undefined;
}

/** The open event streams of tasks and chats. */
export class EventStreams {
  readonly #tasks: TaskService;
  readonly #chats: ChatFeed | undefined;
  readonly #connections: OpenConnections;

  constructor(tasks: TaskService, { chats, tickMs }: EventStreamsOptions = {}) {
    this.#tasks = tasks;
    this.#chats = chats;
    this.#connections = new OpenConnections(tickMs);
  }

  /** Number of open streams. */
  get count(): number {
    return this.#connections.count;
  }

  /** Resolves when the stream has ended. The tasks continue either way. */
  async serve(context: StreamContext, streamRequest: StreamRequest): Promise<void> {
    const connection = this.#connections.createConnection(context);
    const { chats, tasks } = this.#createWriters(context.owner, streamRequest, connection);
    const writers = [...(chats === undefined ? [] : [chats]), ...tasks];
    try {
      const haveLogs = await Promise.all(tasks.map((writer) => writer.loadHead()));
      const missingTask = streamRequest.cursors[haveLogs.indexOf(false)];
      if (missingTask !== undefined) throw createTaskNotFoundError(missingTask.taskId);
      if (
        streamRequest.isReconnect &&
        chats === undefined &&
        tasks.every(({ wasDoneBefore }) => wasDoneBefore)
      )
        // Only a 204 prevents an EventSource from reconnecting forever.
        return void context.response.writeHead(204).end();
      const rejectedWriters = (streamRequest.rejectedTasks ?? []).map(
        (task) => new RejectedTaskWriter(task, connection),
      );
      await this.#connections.serve(context, connection, [...writers, ...rejectedWriters]);
    } finally {
      for (const writer of writers) writer.release();
    }
  }

  /** Ends all streams and rejects new ones. Clients reconnect to the next process. */
  close(): void {
    this.#connections.close();
  }

  #createWriters(owner: string, streamRequest: StreamRequest, connection: EventConnection) {
    const { cursors, usesCursorVector, replayAll } = streamRequest;
    const { heartbeatMs } = this.#connections;
    const cursorHolders = new Map<string, CursorHolder>();
    const createIdFormatter = (name: string) =>
      usesCursorVector
        ? (number: number) => formatCursorVector(cursorHolders, name, number)
        : identity;
    const chats =
      streamRequest.chats &&
      this.#createChatWriter(
        { ...streamRequest.chats, owner },
        createIdFormatter(chatsCursorName),
        connection,
      );
    if (chats !== undefined) cursorHolders.set(chatsCursorName, chats);
    const tasks = cursors.map(({ taskId, after }) => {
      const options = { after, replayAll, heartbeatMs, formatId: createIdFormatter(taskId) };
      const writer = new TaskStreamWriter(this.#tasks.createFeed(taskId), options, connection);
      cursorHolders.set(taskId, writer);
      return writer;
    });
    return { chats, tasks };
  }

  #createChatWriter(
    { after, owner }: { after: number | undefined; owner: string },
    formatId: (stamp: number) => string | number,
    connection: EventConnection,
  ): ChatStreamWriter {
    if (this.#chats === undefined)
      throw invalidRequest(chatsCursorName, "this gateway has no chats");
    const { heartbeatMs } = this.#connections;
    return new ChatStreamWriter(this.#chats, { owner, after, heartbeatMs, formatId }, connection);
  }
}

const identity = (value: number): number => value;
