import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Hold } from "./hold.ts";

/** A proxy in front of a model that can hold requests. */
export interface ModelProxy {
  url: string;
  /** Holds the next request that contains this text. */
  hold(text: string): Hold;
  close(): Promise<void>;
}

export async function startModelProxy(modelUrl: string): Promise<ModelProxy> {
  const { origin, pathname } = new URL(modelUrl);
  const holds = new Map<string, Hold>();

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "/", method = "GET", headers } = incoming;
    let body = "";
    for await (const chunk of incoming.setEncoding("utf8")) body += String(chunk);
    for (const [text, hold] of holds) if (body.includes(text)) await hold.take();
    if (response.destroyed) return;
    const upstreamRequest = request(new URL(url, origin), { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
      reply.on("error", () => response.destroy());
    });
    upstreamRequest.on("error", () => response.destroy());
    response.on("close", () => upstreamRequest.destroy());
    upstreamRequest.end(body);
  }

  const server = createServer((incoming, response) => {
    forward(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    hold(text) {
      const hold = new Hold();
      holds.set(text, hold);
      return hold;
    },
    async close() {
      const closePromise = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closePromise;
    },
  };
}
