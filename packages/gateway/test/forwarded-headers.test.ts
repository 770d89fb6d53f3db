import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { Redactor } from "@deltawire/agent";
import { describe, expect, onTestFinished, test } from "vitest";
import { selectForwardedHeaders } from "../src/passthrough/forwarded-headers.ts";
import { openConnection } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import { testGateway, waitUntil } from "./gateway-fixture.ts";

/** Starts an upstream that replies to every POST with these bytes. Returns its URL. */
async function startRawUpstream(bytes: Uint8Array): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (sent) => {
      const isModels = sent.includes("GET ");
      socket.end(isModels ? "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n" : bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** Returns everything that a client receives for two requests on one connection. */
async function sendTwice(head: string, body: string): Promise<{ text: string; lines: string[] }> {
  const url = await startRawUpstream(Buffer.concat([Buffer.from(head, "utf8"), Buffer.from(body)]));
  const gateway = await testGateway(upstreamToml("up", url, { retries: 0 }));
  const { socket, received: text } = await openConnection(gateway.url);
  onTestFinished(() => void socket.destroy());
  const json = JSON.stringify({ model: "up/m", input: "x" });
  socket.write(
    `POST /v1/embeddings HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
  );
  await waitUntil("the first reply", () => text().includes("\r\n\r\n"));
  socket.write("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
  await waitUntil("the second reply", () => text().includes('"status":"ok"'));
  return { text: text(), lines: gateway.lines };
}

describe("headers of an upstream", () => {
  const secondResponse =
    "\u010d\u010aContent-Length: 0\u010d\u010a\u010d\u010aHTTP/1.1 200 OK\u010d\u010ax-owned: 1";

  test.each(["content-disposition", "content-type"])(
    "cannot start another response: %s",
    async (name) => {
      const { text } = await sendTwice(
        `HTTP/1.1 200 OK\r\n${name}: attachment; filename="${secondResponse}"\r\ncontent-length: 2\r\n\r\n`,
        "{}",
      );
      expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(2);
      expect(text).not.toMatch(/^x-owned/m);
    },
  );

  test("cannot make a page run on the gateway's origin", async () => {
    const { text } = await sendTwice(
      "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 8\r\n\r\n",
      "<script>",
    );
    expect(text).toMatch(/^x-content-type-options: nosniff\r$/m);
    expect(text).toMatch(/^content-security-policy: sandbox; default-src 'none'\r$/m);
  });

  test.each([204, 205])(
    "with a Content-Length on a %d do not block the connection",
    async (status) => {
      const { text } = await sendTwice(`HTTP/1.1 ${status} x\r\ncontent-length: 5\r\n\r\n`, "");
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(text.slice(0, text.indexOf("\r\n\r\n"))).not.toMatch(/^content-length: 5/m);
    },
  );

  test("are dropped and logged if they are malformed or contain a key", async () => {
    const redactor = new Redactor(["sk-0123456789abcdef"]);
    const dropped = (headers: Record<string, string | string[]>) =>
      selectForwardedHeaders(headers, 200, redactor).dropped;
    expect(dropped({ "content-type": "text/plain", "content-length": "12" })).toEqual([]);
    expect(dropped({ "content-disposition": 'attachment; filename="a.mp3"' })).toEqual([]);
    for (const value of [
      "a\r\nb",
      "a\nb",
      "a\u010d\u010ab",
      "a\0b",
      "a\tb",
      "\u20ac",
      "a\x7fb",
      "\xc4\x8d",
    ])
      expect(dropped({ "content-disposition": value })).toEqual(["content-disposition"]);
    expect(dropped({ "content-type": ["text/plain", "text/html"] })).toEqual(["content-type"]);
    expect(dropped({ "content-type": "x/y; key=sk-0123456789abcdef" })).toEqual(["content-type"]);
    for (const value of ["-1", "1e9", "1, 1", "", "0x10"])
      expect(dropped({ "content-length": value })).toEqual(["content-length"]);
    const { lines } = await sendTwice(
      "HTTP/1.1 200 OK\r\ncontent-disposition: a\tb\r\ncontent-length: 2\r\n\r\n",
      "{}",
    );
    expect(lines.some((line) => line.includes('"dropped_headers":["content-disposition"]'))).toBe(
      true,
    );
  });
});
