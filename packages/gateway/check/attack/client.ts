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
  /** The client closes the connection after this time. Undefined: it reads to the end. */
  leaveAfterMs?: number;
  /** The client closes the connection after this many bytes. */
  leaveAfterBytes?: number;
  timeoutMs?: number;
}

export interface ClientReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** True if `text` contains only the start and the end of a very long reply. */
  isTrimmed: boolean;
  bytes: number;
  /** How it ended: `client disconnected` if the test client closed it, `truncated` if the gateway did before the body was complete. */
  end: "complete" | "truncated" | "client disconnected" | "timeout" | "failed";
  /** Why a connection failed. */
  reason: string;
}

const replyTimeoutMs = 25_000;
const maxStoredBytes = 96 * 1024 * 1024;
const staleConnection = "stale connection";
const pool = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 32 });

/** Sends a request and reads its reply, with limits of time and memory. Never rejects. */
export async function send(url: string, requestOptions: ClientRequest): Promise<ClientReply> {
  const reply = await sendWithAgent(pool, url, requestOptions);
  // A server may close an idle connection at the moment it is reused.
  return reply.reason === staleConnection ? sendWithAgent(false, url, requestOptions) : reply;
}

function sendWithAgent(
  agent: Agent | false,
  url: string,
  { method = "POST", path, headers = {}, body, ...limits }: ClientRequest,
): Promise<ClientReply> {
  return new Promise((resolve) => {
    const { timeoutMs = replyTimeoutMs, leaveAfterMs, leaveAfterBytes = Infinity } = limits;
    let clientRequest: Outgoing | undefined;
    let status = 0;
    let replyHeaders: IncomingHttpHeaders = {};
    let bytes = 0;
    let isTrimmed = false;
    const chunks: Buffer[] = [];
    const settle = (end: ClientReply["end"], reason = ""): void => {
      clearTimeout(timeout);
      clearTimeout(leaveTimer);
      if (end !== "complete") clientRequest?.destroy();
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({ status, headers: replyHeaders, text, isTrimmed, bytes, end, reason });
    };
    const timeout = setTimeout(() => settle("timeout"), timeoutMs);
    const leaveTimer =
      leaveAfterMs === undefined
        ? undefined
        : setTimeout(() => settle("client disconnected"), leaveAfterMs);
    const { hostname, port } = new URL(url);
    try {
      clientRequest = request({ hostname, port, path, method, headers, agent }, (response) => {
        status = response.statusCode ?? 0;
        replyHeaders = response.headers;
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > maxStoredBytes && chunks.length > 64) {
            chunks.splice(32, chunks.length - 64);
            isTrimmed = true;
          }
          if (bytes >= leaveAfterBytes) settle("client disconnected");
        });
        response.on("error", () => settle("truncated"));
        response.on("close", () => settle(response.complete ? "complete" : "truncated"));
      });
    } catch (error) {
      return settle("failed", `not sent: ${String(error)}`);
    }
    const outgoing = clientRequest;
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && status === 0;
      settle("failed", isStale ? staleConnection : (error.code ?? error.message));
    });
    outgoing.end(body);
  });
}
