import {
  Agent,
  request,
  type ClientRequest as Outgoing,
  type IncomingHttpHeaders,
} from "node:http";

export interface ClientRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** The client closes the connection after this time; undefined: it reads to the end. */
  leaveAfterMs?: number;
  /** The client closes the connection when so much has come. */
  leaveAfterBytes?: number;
  timeoutMs?: number;
}

export interface ClientReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** True if only the first and the last of a flood is in `text`. */
  isTrimmed: boolean;
  bytes: number;
  /** How it ended: `left` by our client's own wish, `cut` by the gateway before the body was complete. */
  end: "complete" | "cut" | "left" | "timeout" | "failed";
  /** Why a connection failed. */
  reason: string;
}

const replyTimeoutMs = 25_000;
const mostStored = 96 * 1024 * 1024;
const stale = "stale connection";
const pool = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 32 });

/** Sends a request and reads its reply, within a bound of time and memory. Never rejects. */
export async function send(url: string, asked: ClientRequest): Promise<ClientReply> {
  const reply = await sendBy(pool, url, asked);
  // A server may close a connection that was idle in the moment in which it is used again.
  return reply.reason === stale ? sendBy(false, url, asked) : reply;
}

function sendBy(
  agent: Agent | false,
  url: string,
  { method = "POST", path, headers = {}, body, ...limits }: ClientRequest,
): Promise<ClientReply> {
  return new Promise((resolve) => {
    const { timeoutMs = replyTimeoutMs, leaveAfterMs, leaveAfterBytes = Infinity } = limits;
    let sent: Outgoing | undefined;
    let status = 0;
    let received: IncomingHttpHeaders = {};
    let bytes = 0;
    let isTrimmed = false;
    const pieces: Buffer[] = [];
    const settle = (end: ClientReply["end"], reason = ""): void => {
      clearTimeout(late);
      clearTimeout(leaving);
      if (end !== "complete") sent?.destroy();
      const text = Buffer.concat(pieces).toString("utf8");
      resolve({ status, headers: received, text, isTrimmed, bytes, end, reason });
    };
    const late = setTimeout(() => settle("timeout"), timeoutMs);
    const leaving =
      leaveAfterMs === undefined ? undefined : setTimeout(() => settle("left"), leaveAfterMs);
    const { hostname, port } = new URL(url);
    try {
      sent = request({ hostname, port, path, method, headers, agent }, (response) => {
        status = response.statusCode ?? 0;
        received = response.headers;
        response.on("data", (piece: Buffer) => {
          bytes += piece.length;
          pieces.push(piece);
          if (bytes > mostStored && pieces.length > 64) {
            pieces.splice(32, pieces.length - 64);
            isTrimmed = true;
          }
          if (bytes >= leaveAfterBytes) settle("left");
        });
        response.on("error", () => settle("cut"));
        response.on("close", () => settle(response.complete ? "complete" : "cut"));
      });
    } catch (error) {
      return settle("failed", `not sent: ${String(error)}`);
    }
    const outgoing = sent;
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && status === 0;
      settle("failed", isStale ? stale : (error.code ?? error.message));
    });
    outgoing.end(body);
  });
}
