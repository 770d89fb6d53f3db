import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { longestTurn } from "../../../test/work-time.ts";
import { connection } from "./raw-http.ts";
import { hello, pause, scene, until } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

/* What a connection is worth after a request that was refused, and with many requests at once. */

const start = (toml = "[server]\nport = 0\nmax_body_mb = 1\n") =>
  scene((_request, response) => says(response, "fine"), { toml });

const health = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

function post(body: Buffer, headers: Record<string, string | number> = {}): Buffer {
  const all = { host: "localhost", "content-length": body.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /v1/responses HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const packed = zlib.gzipSync(json({ ...hello, input: "x".repeat(100_000) }));
const noise = Buffer.alloc(200_000, "no gzip ");

describe("the connection of a refused body answers the next request or is closed promptly", () => {
  const cases: Record<string, { sent: Buffer; status: number }> = {
    "a body that is not packed": { sent: post(noise, { "content-encoding": "gzip" }), status: 400 },
    "a short body that is not packed": {
      sent: post(noise.subarray(0, 50), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a long body that is not packed": {
      sent: post(Buffer.alloc(1_000_000, "no gzip "), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a body that is cut": {
      sent: post(packed.subarray(0, -20), { "content-encoding": "gzip" }),
      status: 400,
    },
    "a packed body with more behind it": {
      sent: post(Buffer.concat([zlib.zstdCompressSync(json(hello)), noise]), {
        "content-encoding": "zstd",
      }),
      status: 200,
    },
    "bytes that are no zstd": { sent: post(noise, { "content-encoding": "zstd" }), status: 400 },
    "bytes that are no brotli": {
      sent: post(Buffer.alloc(200_000, 0xff), { "content-encoding": "br" }),
      status: 400,
    },
    "an unknown coding": { sent: post(noise, { "content-encoding": "snappy" }), status: 415 },
    "two codings": { sent: post(packed, { "content-encoding": "gzip, gzip" }), status: 415 },
    "a body over the limit": { sent: post(Buffer.alloc(1_500_000, " ")), status: 413 },
    "a packed body over the limit": {
      sent: post(zlib.gzipSync(Buffer.alloc(20_000_000, " ")), { "content-encoding": "gzip" }),
      status: 413,
    },
    "a body with too many values": {
      sent: post(Buffer.from(`[${"{},".repeat(300_000)}{}]`)),
      status: 413,
    },
    "a body that is nested too deep": { sent: post(Buffer.alloc(500_000, "[")), status: 400 },
    "a body that is no JSON": { sent: post(noise), status: 400 },
    "a body for a path that there is not": {
      sent: Buffer.from(post(noise).toString().replace("/v1/responses", "/v1/nothing")),
      status: 404,
    },
    "a body that a GET does not need": {
      sent: Buffer.from(post(noise).toString().replace("POST /v1/responses", "GET /healthz")),
      status: 200,
    },
  };

  test.each(Object.entries(cases))("%s", async (_name, { sent, status }) => {
    const { gateway } = await start();
    const { socket, received, ended } = await connection(gateway.url);
    let isClosed = false;
    void ended.then(() => (isClosed = true));
    socket.write(sent);
    await until("the reply", () => /\r\n\r\n[^]/.test(received()));
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const announced = received().toLowerCase().includes("connection: close");
    if (!isClosed) socket.write(health);
    await until(
      "the next reply or the end",
      () => isClosed || received().includes('"status":"ok"'),
    );
    expect(isClosed).toBe(announced);
    socket.destroy();
  });

  test("a body that stops coming in the middle of a packed stream does not hold up others", async () => {
    const { gateway } = await start();
    const { socket } = await connection(gateway.url);
    socket.write(post(packed, { "content-encoding": "gzip" }).subarray(0, -50));
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    socket.destroy();
    await until("both are logged", () => gateway.lines.length === 2);
    expect(gateway.lines.join("\n")).toContain('"status":499');
  });

  test("a body that is longer than it said ends the connection", async () => {
    const { gateway } = await start();
    const { socket, received, ended } = await connection(gateway.url);
    const body = json({ ...hello, stream: false });
    socket.write(
      post(Buffer.concat([body, Buffer.from("}}}}\r\n\r\n")]), { "content-length": body.length }),
    );
    await ended;
    expect(received()).toMatch(/^HTTP\/1.1 (?:200|400) /);
  });
});

describe("a client that asks before it sends its body", () => {
  const head = (length: number, path = "/v1/responses") =>
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`;

  test("receives 100 Continue and then its reply", async () => {
    const { gateway } = await start();
    const { socket, received } = await connection(gateway.url);
    const body = json({ ...hello, stream: false });
    socket.write(head(body.length));
    await until("100", () => received().startsWith("HTTP/1.1 100 Continue\r\n\r\n"));
    socket.write(body);
    await until("the reply", () => received().includes('"object":"response"'));
    expect(received()).toContain("HTTP/1.1 200 OK");
    socket.destroy();
  });

  test.each([
    ["/v1/responses", 413],
    ["/v1/nothing", 404],
  ])("is refused at %s with %i before it sends any of it", async (path, status) => {
    const { gateway } = await start();
    const { socket, received, ended } = await connection(gateway.url);
    socket.write(head(2_000_000, path));
    await ended;
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received()).not.toContain("100 Continue");
    socket.destroy();
  });
});

describe("pipelined requests", () => {
  test("a hundred for a list of 2,000 models are all answered, and none blocks", async () => {
    const { gateway } = await scene((_request, response) => says(response, "fine"), {
      upstream: { models: Array.from({ length: 2000 }, (_, nth) => `model-${nth}`) },
    });
    const list = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";
    const { socket } = await connection(gateway.url);
    const statusLine = "HTTP/1.1 200 OK";
    let replies = 0;
    let size = 0;
    let tail = "";
    socket.removeAllListeners("data");
    socket.on("data", (piece: Buffer) => {
      size += piece.length;
      // A status line may be cut anywhere, so the end of a piece is read again with the next one.
      const text = tail + piece.toString("latin1");
      for (let at = -1; (at = text.indexOf(statusLine, at + 1)) !== -1;) replies += 1;
      tail = text.slice(-(statusLine.length - 1));
    });
    // The first builds the list.
    expect(
      await longestTurn(() => fetch(`${gateway.url}/v1/models`).then((reply) => reply.text())),
    ).toBeLessThan(200);
    const longest = await longestTurn(async () => {
      socket.write(list.repeat(100));
      await until("all replies", () => replies === 100, 30_000);
    });
    expect(size).toBeGreaterThan(100_000_000);
    expect(longest).toBeLessThan(200);
    socket.destroy();
  });

  test("are served one at a time, in their order", async () => {
    const running: number[] = [];
    let most = 0;
    const { gateway, upstream } = await scene(async (_request, response) => {
      running.push(1);
      most = Math.max(most, running.length);
      await pause(20);
      running.pop();
      says(response, "fine");
    });
    const { socket, received } = await connection(gateway.url);
    socket.write(
      Buffer.concat(Array.from({ length: 5 }, () => post(json({ ...hello, stream: false })))),
    );
    await until("five replies", () => received().split("HTTP/1.1 200 OK").length === 6);
    expect(upstream.requests).toHaveLength(5);
    expect(most).toBe(1);
    socket.destroy();
  });

  test("of which too many come behind a long reply end the connection and what it asked for", async () => {
    const { gateway, upstream } = await scene(() => new Promise(() => undefined));
    const { socket, received, ended } = await connection(gateway.url);
    socket.write(post(json(hello)));
    await until("the first is asked", () => upstream.requests.length === 1);
    socket.write(health.repeat(200));
    await until("it is asked elsewhere", async () => (await fetch(`${gateway.url}/healthz`)).ok);
    expect(socket.destroyed).toBe(false);
    socket.write(health.repeat(10_000));
    await ended;
    expect(received()).toBe("");
    await upstream.requests[0]?.closed;
    await until("it is logged", () => gateway.lines.length === 1);
    expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ left: true, status: 499 });
  });

  test("of a client that has left do not hold up the end of the gateway", async () => {
    const { gateway, upstream } = await scene(() => new Promise(() => undefined));
    const { socket } = await connection(gateway.url);
    socket.write(Buffer.concat([post(json(hello)), Buffer.from(health.repeat(20))]));
    await until("the first is asked", () => upstream.requests.length === 1);
    socket.destroy();
    await until("it is logged", () => gateway.lines.length === 1);
    await gateway.drain();
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow("fetch failed");
  });
});
