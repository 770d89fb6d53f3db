import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";

interface ConnectionQueue {
  /** Settles when the latest request of the connection has ended. */
  lastRequest: Promise<void>;
  /** Requests that have not ended, each with a function that stops waiting for its response to close. */
  readonly pending: Map<ServerResponse, () => void>;
}

/** A connection with more unanswered requests is closed. Clients that use pipelining send a few. */
const maxPending = 256;

/**
 * Serves the requests of a connection one after the other. Node emits pipelined requests all at once, up to about a
 * thousand per 64 KB: serving them together would block the event loop and buffer all replies in memory.
 */
export class RequestQueue {
  readonly #connections = new WeakMap<Socket, ConnectionQueue>();

  /**
   * Calls `serve` when it is the request's turn. Resolves when the reply has ended or the connection has closed. A request
   * whose connection closes before its turn is not served. Too many requests close the connection: they are already in
   * memory when they are counted, and Node's parser cannot be paused.
   */
  async run(
    { socket }: IncomingMessage,
    response: ServerResponse,
    serve: () => Promise<void>,
  ): Promise<void> {
    const connection = this.#getConnection(socket);
    const { pending } = connection;
    const previous = pending.size === 0 ? undefined : connection.lastRequest;
    const closePromise = new Promise<void>((resolve) => {
      pending.set(response, resolve);
      response.once("close", resolve);
    });
    if (pending.size > maxPending) socket.destroy();
    connection.lastRequest = runInTurn(previous, socket, serve, closePromise);
    try {
      await connection.lastRequest;
    } finally {
      pending.delete(response);
    }
  }

  /** True if a reply on this connection has started but not ended. */
  isReplying(socket: Socket): boolean {
    const responses = this.#connections.get(socket)?.pending.keys() ?? [];
    return [...responses].some(({ headersSent }) => headersSent);
  }

  #getConnection(socket: Socket): ConnectionQueue {
    const existing = this.#connections.get(socket);
    if (existing !== undefined) return existing;
    const pending = new Map<ServerResponse, () => void>();
    const newConnection: ConnectionQueue = { lastRequest: Promise.resolve(), pending };
    this.#connections.set(socket, newConnection);
    // A response that is queued behind another one emits no "close" when the connection closes.
    socket.once("close", () => {
      for (const stopWaiting of pending.values()) stopWaiting();
    });
    return newConnection;
  }
}

async function runInTurn(
  previous: Promise<void> | undefined,
  socket: Socket,
  serve: () => Promise<void>,
  closePromise: Promise<void>,
): Promise<void> {
  if (previous !== undefined) {
    // The previous call of `run` handles the errors of its request.
    await previous.catch(() => undefined);
    await yieldToEventLoop();
    if (socket.destroyed) return;
  }
  await Promise.all([serve(), closePromise]);
}
