import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { measureLongestBlock } from "../../../test/cpu-time.ts";
import { openConnection } from "./raw-http.ts";
import { hello, sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

/* Connections after a rejected request, and with many requests at once. */

const start = (toml = "[server]\nport = 0\nmax_body_mb = 1\n") =>
  gatewayFixture((_request, response) => streamText(response, "fine"), { toml });

const health = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

function post(body: Buffer, headers: Record<string, string | number> = {}): Buffer {
  const all = { host: "localhost", "content-length": body.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /v1/responses HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const gzippedBody = zlib.gzipSync(json({ ...hello, input: "x".repeat(100_000) }));
const noise = Buffer.alloc(200_000, "no gzip ");

describe("a connection serves the next request or is closed promptly after", () => {
  const cases: Record<string, { sent: Buffer; status: number }> = {
    "a body that is not compressed": {
      sent: post(noise, { "content-encoding": "gzip" }),
      status: 400,
    },
    "a short body that is not compressed": {
      sent: post(noise.subarray(0, 50), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a long body that is not compressed": {
      sent: post(Buffer.alloc(1_000_000, "no gzip "), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a truncated body": {
      sent: post(gzippedBody.subarray(0, -20), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a compressed body with more bytes after it": {
      sent: post(Buffer.concat([zlib.zstdCompressSync(json(hello)), noise]), {
        "content-encoding": "zstd",
      }),
      status: 200,
    },
    "bytes that are not zstd": { sent: post(noise, { "content-encoding": "zstd" }), status: 400 },
    "bytes that are not brotli": {
      sent: post(Buffer.alloc(200_000, 0xff), { "content-encoding": "br" }),
      status: 400,
    },
    "an unknown content encoding": {
      sent: post(noise, { "content-encoding": "snappy" }),
      status: 415,
    },
    "two content encodings": {
      sent: post(gzippedBody, { "content-encoding": "gzip, gzip" }),
      status: 415,
    },
    "a body over the limit": { sent: post(Buffer.alloc(1_500_000, " ")), status: 413 },
    "a compressed body over the limit": {
      sent: post(zlib.gzipSync(Buffer.alloc(20_000_000, " ")), { "content-encoding": "gzip" }),
      status: 413,
    },
    "a body with too many values": {
      sent: post(Buffer.from(`[${"{},".repeat(300_000)}{}]`)),
      status: 413,
    },
    "a body that is nested too deeply": { sent: post(Buffer.alloc(500_000, "[")), status: 400 },
    "a body that is not JSON": { sent: post(noise), status: 400 },
    "a body for an unknown path": {
      sent: Buffer.from(post(noise).toString().replace("/v1/responses", "/v1/nothing")),
      status: 404,
    },
    "a GET request with a body": {
      sent: Buffer.from(post(noise).toString().replace("POST /v1/responses", "GET /healthz")),
      status: 200,
    },
  };

  test.each(Object.entries(cases))("%s", async (_name, { sent, status }) => {
    const { gateway } = await start();
    const { socket, received, ended } = await openConnection(gateway.url);
    let isClosed = false;
    void ended.then(() => (isClosed = true));
    socket.write(sent);
    await waitUntil("the reply", () => /\r\n\r\n[^]/.test(received()));
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const announcesClose = received().toLowerCase().includes("connection: close");
    if (!isClosed) socket.write(health);
    await waitUntil(
      "the next reply or the end",
      () => isClosed || received().includes('"status":"ok"'),
    );
    expect(isClosed).toBe(announcesClose);
    socket.destroy();
  });

  test("a compressed body that stops in the middle does not delay other requests", async () => {
    const { gateway } = await start();
    const { socket } = await openConnection(gateway.url);
    socket.write(post(gzippedBody, { "content-encoding": "gzip" }).subarray(0, -50));
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    socket.destroy();
    await waitUntil("both are logged", () => gateway.lines.length === 2);
    expect(gateway.lines.join("\n")).toContain('"status":499');
  });

  test("a body that is longer than its Content-Length ends the connection", async () => {
    const { gateway } = await start();
    const { socket, received, ended } = await openConnection(gateway.url);
    const body = json({ ...hello, stream: false });
    socket.write(
      post(Buffer.concat([body, Buffer.from("}}}}\r\n\r\n")]), { "content-length": body.length }),
    );
    await ended;
    expect(received()).toMatch(/^HTTP\/1.1 (?:200|400) /);
  });
});

describe("a client that sends Expect: 100-continue", () => {
  const head = (length: number, path = "/v1/responses") =>
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`;

  test("gets 100 Continue and then the reply", async () => {
    const { gateway } = await start();
    const { socket, received } = await openConnection(gateway.url);
    const body = json({ ...hello, stream: false });
    socket.write(head(body.length));
    await waitUntil("100", () => received().startsWith("HTTP/1.1 100 Continue\r\n\r\n"));
    socket.write(body);
    await waitUntil("the reply", () => received().includes('"object":"response"'));
    expect(received()).toContain("HTTP/1.1 200 OK");
    socket.destroy();
  });

  test.each([
    ["/v1/responses", 413],
    ["/v1/nothing", 404],
  ])("gets an error from %s with %i before it sends the body", async (path, status) => {
    const { gateway } = await start();
    const { socket, received, ended } = await openConnection(gateway.url);
    socket.write(head(2_000_000, path));
    await ended;
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received()).not.toContain("100 Continue");
    socket.destroy();
  });
});

describe("pipelined requests", () => {
  test("for a list of 2,000 models, a hundred at once, are all answered without blocking the event loop", async () => {
    const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"), {
      upstream: { models: Array.from({ length: 2000 }, (_, nth) => `model-${nth}`) },
    });
    const list = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";
    const { socket } = await openConnection(gateway.url);
    const statusLine = "HTTP/1.1 200 OK";
    let replies = 0;
    let size = 0;
    let tail = "";
    socket.removeAllListeners("data");
    socket.on("data", (chunk: Buffer) => {
      size += chunk.length;
      // A status line may be split, so the end of a chunk is searched again with the next one.
      const text = tail + chunk.toString("latin1");
      for (let index = -1; (index = text.indexOf(statusLine, index + 1)) !== -1;) replies += 1;
      tail = text.slice(-(statusLine.length - 1));
    });
    // The first request builds the list.
    expect(
      await measureLongestBlock(() =>
        fetch(`${gateway.url}/v1/models`).then((reply) => reply.text()),
      ),
    ).toBeLessThan(200);
    const longest = await measureLongestBlock(async () => {
      socket.write(list.repeat(100));
      await waitUntil("all replies", () => replies === 100, 30_000);
    });
    expect(size).toBeGreaterThan(100_000_000);
    expect(longest).toBeLessThan(200);
    socket.destroy();
  });

  test("are served one at a time, in order", async () => {
    let running = 0;
    let maxConcurrent = 0;
    const { gateway, upstream } = await gatewayFixture(async (_request, response) => {
      running += 1;
      maxConcurrent = Math.max(maxConcurrent, running);
      await sleep(20);
      running -= 1;
      streamText(response, "fine");
    });
    const { socket, received } = await openConnection(gateway.url);
    socket.write(
      Buffer.concat(Array.from({ length: 5 }, () => post(json({ ...hello, stream: false })))),
    );
    await waitUntil("five replies", () => received().split("HTTP/1.1 200 OK").length === 6);
    expect(upstream.requests).toHaveLength(5);
    expect(maxConcurrent).toBe(1);
    socket.destroy();
  });

  test("beyond the limit close the connection and abort the request in progress", async () => {
    const { gateway, upstream } = await gatewayFixture(() => new Promise(() => undefined));
    const { socket, received, ended } = await openConnection(gateway.url);
    socket.write(post(json(hello)));
    await waitUntil("the upstream gets the first request", () => upstream.requests.length === 1);
    socket.write(health.repeat(200));
    await waitUntil(
      "other connections are served",
      async () => (await fetch(`${gateway.url}/healthz`)).ok,
    );
    expect(socket.destroyed).toBe(false);
    socket.write(health.repeat(10_000));
    await ended;
    expect(received()).toBe("");
    await upstream.requests[0]?.closed;
    await waitUntil("it is logged", () => gateway.lines.length === 1);
    expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
      client_disconnected: true,
      status: 499,
    });
  });

  test("of a client that has disconnected do not delay shutdown", async () => {
    const { gateway, upstream } = await gatewayFixture(() => new Promise(() => undefined));
    const { socket } = await openConnection(gateway.url);
    socket.write(Buffer.concat([post(json(hello)), Buffer.from(health.repeat(20))]));
    await waitUntil("the upstream gets the first request", () => upstream.requests.length === 1);
    socket.destroy();
    await waitUntil("it is logged", () => gateway.lines.length === 1);
    await gateway.drain();
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow("fetch failed");
  });
});
