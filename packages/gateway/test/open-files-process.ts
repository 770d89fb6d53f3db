import { closeSync, openSync } from "node:fs";
import { Agent, createServer, request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { startTestGateway, upstreamToml } from "./test-gateway.ts";

/*
 * A gateway in a separate process with a low limit of open files: `node open-files-process.ts PAGE`. It opens files up to
 * the limit, sends requests on an open connection, closes the files and sends them again. Prints the replies as JSON.
 */

const [page = ""] = process.argv.slice(2);
const upstream = createServer((_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ choices: [{ index: 0, message: { content: "Hi" } }] }));
}).listen(0, "127.0.0.1");
await once(upstream, "listening");
const address = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
const toml = upstreamToml("up", address, { models: ["m"] });
const gateway = await startTestGateway(`[store]\nenabled = false\n${toml}`, { pageFolder: page });
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const chat = { model: "up/m", messages: [{ role: "user", content: "Hello" }] };
await send("/healthz");
const files: number[] = [];
const without = await askAll();
for (const file of files.splice(0)) closeSync(file);
const again = await askAll(false);
const { state, lastFailureAt } = gateway.relay.upstreams.get("up")?.health ?? {};
process.stdout.write(`${JSON.stringify({ without, again, state, lastBadAt: lastFailureAt })}\n`);
agent.destroy();
await gateway.close();
upstream.close();
upstream.closeAllConnections();

async function askAll(isFull = true) {
  const replies: Record<string, { status: number; body: string }> = {};
  for (const [path, body] of [["/healthz"], ["/"], ["/v1/chat/completions", chat]] as const) {
    if (isFull) openAll();
    replies[path] = await send(path, body);
  }
  return replies;
}

function openAll(): void {
  try {
    for (;;) files.push(openSync("/dev/null", "r"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error;
  }
}

async function send(path: string, body?: object): Promise<{ status: number; body: string }> {
  const sent = request(gateway.url + path, { agent, method: body === undefined ? "GET" : "POST" });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [reply] = (await once(sent, "response")) as [IncomingMessage];
  return { status: reply.statusCode ?? 0, body: (await text(reply)).slice(0, 300) };
}
