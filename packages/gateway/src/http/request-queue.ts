import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";

interface Connection {
  /** Settles when the latest request of the connection is over. */
  last: Promise<void>;
  /** Of the requests that have come and are not over, each with what ends the wait for it. */
  readonly pending: Map<ServerResponse, () => void>;
}

/** A client that sends more requests than this without waiting for a reply is cut off; those that pipeline send a few. */
const maxPending = 256;

/**
 * Serves the requests of a connection one after the other. Node announces pipelined requests all at once, up to some
 * thousand in 64 KB: their work would be one block of the event loop, and their replies would wait in memory.
 */
export class RequestQueue {
  readonly #connections = new WeakMap<Socket, Connection>();

  /**
   * Calls `serve` when it is the request's turn, and resolves when the reply has ended or the connection has closed. A
   * request whose connection closed before its turn is not served. Too many requests close the connection: they are in
   * memory already when they are counted, and Node does not let a parser rest.
   */
  async run(
    { socket }: IncomingMessage,
    response: ServerResponse,
    serve: () => Promise<void>,
  ): Promise<void> {
    const connection = this.#connectionOf(socket);
    const { pending } = connection;
    const previous = pending.size === 0 ? undefined : connection.last;
    const closed = new Promise<void>((resolve) => {
      pending.set(response, resolve);
      response.once("close", resolve);
    });
    if (pending.size > maxPending) socket.destroy();
    connection.last = runInTurn(previous, socket, serve, closed);
    try {
      await connection.last;
    } finally {
      pending.delete(response);
    }
  }

  /** True if a reply has begun on this connection and has not ended. */
  isReplying(socket: Socket): boolean {
    const responses = this.#connections.get(socket)?.pending.keys() ?? [];
    return [...responses].some(({ headersSent }) => headersSent);
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const pending = new Map<ServerResponse, () => void>();
    const made: Connection = { last: Promise.resolve(), pending };
    this.#connections.set(socket, made);
    // A response that waits behind another is not closed with its connection.
    socket.once("close", () => {
      for (const end of pending.values()) end();
    });
    return made;
  }
}

async function runInTurn(
  previous: Promise<void> | undefined,
  socket: Socket,
  serve: () => Promise<void>,
  closed: Promise<void>,
): Promise<void> {
  if (previous !== undefined) {
    // Its failure is not this request's.
    await previous.catch(() => undefined);
    await yieldToEventLoop();
    if (socket.destroyed) return;
  }
  await Promise.all([serve(), closed]);
}
