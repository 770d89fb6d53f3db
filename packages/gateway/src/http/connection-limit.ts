import { readFileSync } from "node:fs";
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { GatewayError } from "../gateway-error.ts";

/** Open files that are not connections of clients or upstreams: database, page, log, and those of Node.js. */
const reservedFiles = 64;
const minConnections = 8;
/** A connection beyond the limit is closed if it sends nothing for this long. */
const excessIdleMs = 1_000;

/**
 * Reserves file descriptors for upstream connections and for the gateway itself. Requests on connections beyond the limit
 * get a 503 with a clear message instead of failing at an arbitrary point with EMFILE.
 */
export class ConnectionLimit {
  readonly #maxConnections: number;
  #openCount = 0;
  readonly #excessSockets = new WeakSet<Socket>();

  constructor(server: Server, maxConnections = computeMaxConnections(readOpenFilesLimit())) {
    this.#maxConnections = maxConnections;
    server.on("connection", (socket: Socket) => this.#add(socket));
  }

  /** Throws a GatewayError (503) if the connection is beyond the limit. It is closed after the response. */
  assertWithinLimit(socket: Socket, response: ServerResponse): void {
    if (!this.#excessSockets.has(socket)) return;
    response.setHeader("connection", "close");
    throw new GatewayError(
      "server_is_overloaded",
      `too many open connections (limit ${this.#maxConnections}); try again later or raise the open file limit (ulimit -n)`,
      { retryAfter: 5 },
    );
  }

  #add(socket: Socket): void {
    this.#openCount += 1;
    socket.once("close", () => (this.#openCount -= 1));
    if (this.#openCount <= this.#maxConnections) return;
    this.#excessSockets.add(socket);
    const idleTimer = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy();
    }, excessIdleMs);
    socket.once("close", () => clearTimeout(idleTimer));
  }
}

/** Half of the available files: each request needs a connection to the client and one to an upstream. */
export function computeMaxConnections(openFiles: number): number {
  return Math.max(minConnections, Math.floor((openFiles - reservedFiles) / 2));
}

/** The soft limit of this process. Infinity if the system does not report it. */
function readOpenFilesLimit(): number {
  try {
    const softLimit = /^Max open files\s+(\d+)/m.exec(
      readFileSync("/proc/self/limits", "utf8"),
    )?.[1];
    return softLimit === undefined ? Number.POSITIVE_INFINITY : Number(softLimit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
