import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a model says comes through here, and stops in mid-sentence for as long as a test wants. */
export class HeldModel {
  #hold = { most: Infinity, of: "" };
  #wake = Promise.withResolvers<void>();

  /** Of each answer no more than so many events with this in them are let through, those of before included. */
  holdAfter(events: number, of = ""): void {
    this.#hold = { most: events, of };
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  letGo(): void {
    this.holdAfter(Infinity);
  }

  /** Between the gateway and a model at this address. */
  async before(url: string): Promise<{ url: string; close(): Promise<void> }> {
    const { origin, pathname } = new URL(url);
    const server = createServer((asked, response) => this.#forward(asked, response, origin));
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

  #forward(asked: IncomingMessage, response: ServerResponse, origin: string): void {
    const { url = "/", method = "GET", headers } = asked;
    const onward = request(new URL(url, origin), { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      const isStream = reply.headers["content-type"]?.startsWith("text/event-stream") === true;
      if (isStream) this.#play(reply, response).catch(() => response.destroy());
      else reply.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    asked.pipe(onward);
  }

  async #play(reply: IncomingMessage, response: ServerResponse): Promise<void> {
    const said: string[] = [];
    for await (const event of eventsOf(reply)) {
      while (this.#isEnough(said)) await this.#wake.promise;
      response.write(event);
      said.push(event);
    }
    response.end();
  }

  #isEnough(said: readonly string[]): boolean {
    const { most, of } = this.#hold;
    return said.filter((event) => event.includes(of)).length >= most;
  }
}

async function* eventsOf(reply: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  for await (const part of reply.setEncoding("utf8")) {
    const parts = `${rest}${String(part)}`.split(/(?<=\n\n)/);
    rest = parts.at(-1)?.endsWith("\n\n") === true ? "" : (parts.pop() ?? "");
    yield* parts;
  }
  if (rest !== "") yield rest;
}
