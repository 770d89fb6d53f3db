import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/*
 * The baseline of the benchmark, in a separate process: the minimum work of any server in Node. `/log` sends the bytes of a
 * file from memory, `/idle` opens a stream and sends one word. Answers "measure" like the measured gateway.
 */

const headers = { "content-type": "text/event-stream; charset=utf-8" };
const [, , file] = process.argv;
const log = file === undefined ? "" : readFileSync(file);

const server = createServer((request, response) => {
  response.writeHead(200, headers);
  if (request.url === "/log") response.end(log);
  else response.write("data: {}\n\n");
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.on("message", (message) => {
  if (message !== "measure") return;
  for (let pass = 0; pass < 3; pass += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const held = {
    heapBytes: heapUsed,
    bufferBytes: arrayBuffers,
    residentBytes: rss,
    resources: {},
  };
  process.send?.({ held });
});
process.on("disconnect", () => process.exit());
