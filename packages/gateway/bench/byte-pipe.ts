import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";

/*
 * The floor: what any proxy in Node must do. It looks at nothing and hands bytes on, in both directions.
 * byte-pipe.ts node:http|undici PORT UPSTREAM_PORT
 */

const [client, port, upstreamPort] = process.argv.slice(2);
const handOn = client === "undici" ? await pipeOverUndici() : pipeOverHttp();

const server = createServer((incoming, outgoing) => {
  if (incoming.url === "/healthz") outgoing.end("ok");
  else handOn(incoming, outgoing);
});
server.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
process.on("SIGTERM", () => process.exit());

type HandOn = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function pipeOverHttp(): HandOn {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: Infinity });
  return (incoming, outgoing) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port: upstreamPort,
        method: incoming.method,
        path: incoming.url,
        headers: endToEnd(incoming.headers),
        agent,
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
        answer.pipe(outgoing);
      },
    );
    asked.on("error", () => outgoing.destroy());
    outgoing.on("close", () => asked.destroy());
    incoming.pipe(asked);
  };
}

async function pipeOverUndici(): Promise<HandOn> {
  const { Agent } = await import("undici");
  const agent = new Agent({ connections: null });
  const origin = `http://127.0.0.1:${upstreamPort}`;
  return (incoming, outgoing) => {
    const { url: path = "/", headers } = incoming;
    agent.dispatch(
      { origin, method: "POST", path, headers: endToEnd(headers), body: incoming },
      {
        onRequestStart(controller) {
          outgoing.on("drain", () => controller.resume());
          outgoing.on("close", () => {
            if (!outgoing.writableFinished) controller.abort(new Error("the client left"));
          });
        },
        onResponseStart(_controller, status, headers) {
          outgoing.writeHead(status, endToEnd(headers));
        },
        onResponseData(controller, bytes) {
          if (!outgoing.write(bytes)) controller.pause();
        },
        onResponseEnd: () => void outgoing.end(),
        onResponseError: () => void outgoing.destroy(),
      },
    );
  };
}

/** Without the fields that belong to one connection. */
function endToEnd<Headers extends object>(headers: Headers): Headers {
  const hopByHop = ["host", "connection", "keep-alive"];
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name)),
  ) as Headers;
}
