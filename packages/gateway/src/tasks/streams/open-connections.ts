import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError } from "../../gateway-error.ts";
import { Ticker } from "../../upstream/ticker.ts";
import { sseHeaders } from "../../relay/receiver.ts";
import { EventConnection, tickLimits, type StreamSource } from "./event-connection.ts";

/** The parts of a client's HTTP call that a stream of events needs. */
export interface StreamContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whose data the client can access. */
  readonly owner: string;
  /** Aborted if the client disconnects or the gateway stops. */
  readonly signal: AbortSignal;
  /** `performance.now()` when the stream was opened, for the log. */
  firstByteAt: number | undefined;
}

/** The open event streams, with one timer for all of them. */
export class OpenConnections {
  readonly heartbeatMs: number;
  readonly #ticker: Ticker;
  readonly #openConnections = new Set<EventConnection>();
  #isClosed = false;

  constructor(tickMs = 1000) {
    this.#ticker = new Ticker(tickMs);
    this.heartbeatMs = tickLimits.keepAlive * tickMs;
  }

  get count(): number {
    return this.#openConnections.size;
  }

  /** Creates a connection that is not open yet: until `serve` another response can be sent. */
  createConnection(context: StreamContext): EventConnection {
    return new EventConnection(context.response, this.#ticker, () => {
      context.firstByteAt = performance.now();
    });
  }

  /** Streams events from the sources. Resolves when the stream has ended. */
  async serve(
    { request, response, signal }: StreamContext,
    connection: EventConnection,
    sources: readonly StreamSource[],
  ): Promise<void> {
    if (request.method === "HEAD") return void response.writeHead(200, sseHeaders).end();
    if (this.#isClosed) throw new GatewayError("shutting_down", "the gateway is shutting down");
    // The server may have ended the response with an error, which must be sent.
    const disconnect = (): void => {
      if (!response.writableEnded) response.destroy();
    };
    this.#openConnections.add(connection);
    signal.addEventListener("abort", disconnect, { once: true });
    try {
      await connection.serve(sources);
    } finally {
      signal.removeEventListener("abort", disconnect);
      this.#openConnections.delete(connection);
    }
  }

  /** Ends all streams and rejects new ones. Clients reconnect to the next process. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#openConnections) connection.close();
  }
}
