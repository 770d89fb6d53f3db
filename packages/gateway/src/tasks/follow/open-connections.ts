import type { Call } from "../../http/call.ts";
import { Problem } from "../../problem.ts";
import { Heartbeat } from "../../relay/heartbeat.ts";
import { streamHeaders } from "../../relay/receiver.ts";
import { EventConnection, silences, type StreamSource } from "./event-connection.ts";

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
  of(call: Call): EventConnection {
    return new EventConnection(call.response, this.#heartbeat, () => {
      call.firstByteAt = performance.now();
    });
  }

  /** Resolves when the stream has ended, whoever ended it. */
  async serve(
    { request, response, signal }: Call,
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
