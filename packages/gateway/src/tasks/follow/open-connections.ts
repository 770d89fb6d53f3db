import type { IncomingMessage, ServerResponse } from "node:http";
import { Problem } from "../../problem.ts";
import { Heartbeat } from "../../upstream/heartbeat.ts";
import { streamHeaders } from "../../relay/receiver.ts";
import { EventConnection, silences, type StreamSource } from "./event-connection.ts";

/** The parts of a client's HTTP call that a stream of events needs. */
export interface StreamCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted if the client has left or the gateway stops. */
  readonly signal: AbortSignal;
  /** Set when the stream is opened, for the log. */
  firstByteAt: number | undefined;
}

/** Connections that stay open for as long as somebody listens: one timer for all of them. */
export class OpenConnections {
  readonly heartbeatMs: number;
  readonly #heartbeat: Heartbeat;
  readonly #open = new Set<EventConnection>();
  #isClosed = false;

  constructor(beatMs = 1000) {
    this.#heartbeat = new Heartbeat(beatMs);
    this.heartbeatMs = silences.quiet * beatMs;
  }

  get count(): number {
    return this.#open.size;
  }

  /** One that is not open yet: until it is, the answer can still be another. */
  of(call: StreamCall): EventConnection {
    return new EventConnection(call.response, this.#heartbeat, () => {
      call.firstByteAt = performance.now();
    });
  }

  /** Resolves when the stream has ended, whoever ended it. */
  async serve(
    { request, response, signal }: StreamCall,
    connection: EventConnection,
    sources: readonly StreamSource[],
  ): Promise<void> {
    if (request.method === "HEAD") return void response.writeHead(200, streamHeaders).end();
    if (this.#isClosed) throw new Problem("shutting_down", "the gateway is shutting down");
    const leave = (): void => void response.destroy();
    this.#open.add(connection);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await connection.serve(sources);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#open.delete(connection);
    }
  }

  /** Ends all streams, and begins no more. Their readers come back to whoever serves next. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#open) connection.close();
  }
}
