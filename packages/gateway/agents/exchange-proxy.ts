import { once } from "node:events";
import {
  createServer,
  request as sendRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** One request of an agent and the gateway's reply. */
export interface Exchange {
  method: string;
  path: string;
  requestHeaders: IncomingHttpHeaders;
  requestText: string;
  /** 0 until the gateway replies. */
  status: number;
  headers: IncomingHttpHeaders;
  /** The reply so far. */
  replyText: string;
  /** False if the agent or the gateway closed the connection before the end of the reply. */
  isComplete: boolean;
}

export interface ExchangeProxy {
  url: string;
  exchanges: Exchange[];
  close(): Promise<void>;
}

/** Forwards requests to the gateway at `target` and records them with their replies. */
export async function startExchangeProxy(target: string): Promise<ExchangeProxy> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    void forward(target, request, response, exchanges).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function forward(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  exchanges: Exchange[],
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { method = "", url: path = "", headers: requestHeaders } = request;
  const exchange: Exchange = {
    method,
    path,
    requestHeaders,
    requestText: body.toString("utf8"),
    status: 0,
    headers: {},
    replyText: "",
    isComplete: false,
  };
  exchanges.push(exchange);
  const upstream = sendRequest(`${target}${path}`, {
    method,
    headers: requestHeaders,
    agent: false,
  });
  response.on("close", () => upstream.destroy());
  upstream.on("error", () => response.destroy());
  upstream.end(body);
  const [reply] = (await once(upstream, "response")) as [IncomingMessage];
  exchange.status = reply.statusCode ?? 0;
  exchange.headers = reply.headers;
  response.writeHead(exchange.status, reply.headers);
  response.flushHeaders();
  const decoder = new TextDecoder();
  reply.on("data", (chunk: Buffer) => {
    exchange.replyText += decoder.decode(chunk, { stream: true });
    response.write(chunk);
  });
  reply.on("error", () => response.destroy());
  reply.on("end", () => {
    exchange.isComplete = true;
    response.end();
  });
  // A reply that was cut off must be cut off for the agent, too.
  reply.on("close", () => exchange.isComplete || response.destroy());
}
