import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";

/*
 * The baseline: the minimum work of any proxy in Node. Forwards bytes in both directions without parsing.
 * byte-pipe.ts node:http|undici PORT UPSTREAM_PORT
 */

const [client, port, upstreamPort] = process.argv.slice(2);
const forward = client === "undici" ? await pipeOverUndici() : pipeOverHttp();

const server = createServer((incoming, outgoing) => {
  if (incoming.url === "/healthz") outgoing.end("ok");
  else forward(incoming, outgoing);
});
server.listen({ port: Number(port), host: "127.0.0.1", backlog: 4096 });
process.on("SIGTERM", () => process.exit());

type ForwardRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function pipeOverHttp(): ForwardRequest {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: Infinity });
  return (incoming, outgoing) => {
    const upstreamRequest = request(
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
    upstreamRequest.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstreamRequest.destroy());
    incoming.pipe(upstreamRequest);
  };
}

async function pipeOverUndici(): Promise<ForwardRequest> {
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
            if (!outgoing.writableFinished) controller.abort(new Error("the client disconnected"));
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

/** Removes the headers that belong to a single connection. */
function endToEnd<Headers extends object>(headers: Headers): Headers {
  const hopByHop = ["host", "connection", "keep-alive"];
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name)),
  ) as Headers;
}
