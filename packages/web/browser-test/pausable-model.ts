import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy for model replies that a test can pause in the middle. */
export class PausableModel {
  #hold = { most: Infinity, of: "" };
  #wake = Promise.withResolvers<void>();

  /** Pauses each reply after this number of events that contain the text, including events that were already sent. */
  pauseAfter(events: number, of = ""): void {
    this.#hold = { most: events, of };
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  resume(): void {
    this.pauseAfter(Infinity);
  }

  /** Starts the proxy for a model at this URL. */
  async startProxy(url: string): Promise<{ url: string; close(): Promise<void> }> {
    const { origin, pathname } = new URL(url);
    const server = createServer((incoming, response) => this.#forward(incoming, response, origin));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}${pathname}`,
      async close() {
        const closed = once(server, "close");
        server.close();
        server.closeAllConnections();
        await closed;
      },
    };
  }

  #forward(incoming: IncomingMessage, response: ServerResponse, origin: string): void {
    const { url = "/", method = "GET", headers } = incoming;
    const onward = request(new URL(url, origin), { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      const isStream = reply.headers["content-type"]?.startsWith("text/event-stream") === true;
      if (isStream) this.#play(reply, response).catch(() => response.destroy());
      else reply.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }

  async #play(reply: IncomingMessage, response: ServerResponse): Promise<void> {
    const sentEvents: string[] = [];
    for await (const event of splitEvents(reply)) {
      while (this.#isEnough(sentEvents)) await this.#wake.promise;
      response.write(event);
      sentEvents.push(event);
    }
    response.end();
  }

  #isEnough(sentEvents: readonly string[]): boolean {
    const { most, of } = this.#hold;
    return sentEvents.filter((event) => event.includes(of)).length >= most;
  }
}

async function* splitEvents(reply: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  for await (const part of reply.setEncoding("utf8")) {
    const parts = `${rest}${String(part)}`.split(/(?<=\n\n)/);
    rest = parts.at(-1)?.endsWith("\n\n") === true ? "" : (parts.pop() ?? "");
    yield* parts;
  }
  if (rest !== "") yield rest;
}
