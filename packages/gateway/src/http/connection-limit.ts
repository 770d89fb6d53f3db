import { readFileSync } from "node:fs";
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Problem } from "../problem.ts";

/** Open files that are not connections of clients or upstreams: the database, the page, the log, Node's own. */
const otherFiles = 64;
const fewestConnections = 8;
/** How long a connection beyond the limit may stay without a request. */
const idleMs = 1_000;

/**
 * Keeps some of the files that this process may open for upstreams and for its own work: requests on connections beyond the
 * limit get a clear answer, instead of failing anywhere for want of a file descriptor.
 */
export class ConnectionLimit {
  readonly #most: number;
  #open = 0;
  readonly #beyond = new WeakSet<Socket>();

  constructor(server: Server, most = connectionsFor(openFilesLimit())) {
    this.#most = most;
    server.on("connection", (socket: Socket) => this.#add(socket));
  }

  /** Throws if the connection is beyond the limit; it is closed behind the response. */
  check(socket: Socket, response: ServerResponse): void {
    if (!this.#beyond.has(socket)) return;
    response.setHeader("connection", "close");
    throw new Problem(
      "server_is_overloaded",
      `the gateway has too many connections open (more than ${this.#most}); try again later, or raise its limit of open files (ulimit -n)`,
      { retryAfter: 5 },
    );
  }

  #add(socket: Socket): void {
    this.#open += 1;
    socket.once("close", () => (this.#open -= 1));
    if (this.#open <= this.#most) return;
    this.#beyond.add(socket);
    const idle = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy();
    }, idleMs);
    socket.once("close", () => clearTimeout(idle));
  }
}

/** A request has a connection to a client and one to an upstream. */
export function connectionsFor(openFiles: number): number {
  return Math.max(fewestConnections, Math.floor((openFiles - otherFiles) / 2));
}

/** Of this process; infinite where the system does not say. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
