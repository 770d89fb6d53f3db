import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { formatField, formatFile, formatUpload } from "./multipart-body.ts";
import { sendRawRequest, openConnection, sendBytes } from "./raw-http.ts";
import type { TestGatewayOptions } from "./test-gateway.ts";
import { hello, sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

const megabyte = 1024 * 1024;
const small = `[server]\nport = 0\nmax_body_mb = 1\n`;
const start = (toml = small, options: TestGatewayOptions = {}) =>
  gatewayFixture((_request, response) => streamText(response, "fine"), { toml, ...options });

const tooLarge = { error: { code: "request_too_large", type: "invalid_request_error" } };

async function* spaces(count: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024, " ");
  for (let sent = 0; sent < count; sent += chunk.length) yield chunk;
}

describe("a body that is too large", () => {
  test("is rejected by its Content-Length before it is read", async () => {
    const { gateway, upstream } = await start();
    const { socket, received, ended } = await openConnection(gateway.url);
    const head = `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${2 * megabyte}\r\n\r\n{"model"`);
    await ended;
    expect(received()).toMatch(/^HTTP\/1.1 413 /);
    expect(received()).toContain("request_too_large");
    expect(upstream.requests).toEqual([]);
  });

  test("is rejected when its chunks exceed the limit, on every route", async () => {
    const { gateway, upstream } = await start();
    for (const [path, type] of [
      ["/v1/responses", "application/json"],
      ["/v1/chat/completions", "application/json"],
      ["/v1/embeddings", "application/json"],
      ["/v1/audio/transcriptions", "multipart/form-data; boundary=x"],
    ] as const) {
      const body = Readable.from(spaces(1.5 * megabyte));
      const reply = await sendRawRequest(gateway.url + path, {
        headers: { "content-type": type },
        body,
      });
      expect([path, reply.status]).toEqual([path, 413]);
      expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
      expect(reply.text).toContain("1 MB");
    }
    expect(upstream.requests).toEqual([]);
  });

  test("is rejected with the limit as configured, even if it is less than a megabyte", async () => {
    const { gateway } = await start("[server]\nport = 0\nmax_body_mb = 0.5\n");
    const reply = await gateway.post("/responses", { ...hello, input: "x".repeat(megabyte) });
    expect(await reply.json()).toMatchObject({
      error: { message: "the body is larger than 0.5 MB; send less, or raise server.max_body_mb" },
    });
  });

  test("is rejected when its file exceeds the limit after the model, and is not counted as a failure of the upstream", async () => {
    const { gateway } = await start();
    const headers = { "content-type": "multipart/form-data; boundary=line" };
    const opening = formatUpload(formatField("model", "up/m")).subarray(0, -"--line--\r\n".length);
    for (let round = 0; round < 6; round += 1) {
      async function* body(): AsyncGenerator<Buffer> {
        yield opening;
        yield* spaces(1.5 * megabyte);
      }
      const reply = await sendRawRequest(`${gateway.url}/v1/images/edits`, {
        headers,
        body: Readable.from(body(), { objectMode: false }),
      });
      expect(reply.status).toBe(413);
      expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
    }
    expect((await gateway.post("/responses", hello)).status).toBe(200);
  });

  test("is rejected, but one just below the limit is accepted", async () => {
    const { gateway } = await start();
    const body = { ...hello, input: "x".repeat(megabyte - 200) };
    expect((await gateway.post("/responses", body)).status).toBe(200);
  });
});

describe("a compressed body", () => {
  const packers = {
    gzip: zlib.gzipSync,
    "x-gzip": zlib.gzipSync,
    deflate: zlib.deflateSync,
    br: (bytes: Buffer) =>
      zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
    zstd: zlib.zstdCompressSync,
    identity: (bytes: Buffer) => bytes,
  };

  test.each(Object.entries(packers))("with %s is decompressed", async (encoding, pack) => {
    const { gateway, upstream } = await start();
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const body = pack(Buffer.from(JSON.stringify({ ...hello, input: "Grüße" })));
    expect((await sendRawRequest(`${gateway.url}/v1/responses`, { headers, body })).status).toBe(
      200,
    );
    expect(JSON.stringify(upstream.requests[0]?.body)).toContain("Grüße");
    expect(upstream.requests[0]?.headers["content-encoding"]).toBeUndefined();
  });

  test.each(["gzip", "deflate", "br", "zstd"] as const)(
    "with %s that decompresses to far more than the limit is rejected immediately and never held in memory",
    async (encoding) => {
      const { gateway, upstream } = await start();
      const body = packers[encoding](Buffer.alloc(128 * megabyte, " "));
      expect(body.length).toBeLessThan(megabyte);
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const before = process.memoryUsage();
      let peakBytes = 0;
      const watch = setInterval(() => {
        const { external, heapUsed } = process.memoryUsage();
        peakBytes = Math.max(peakBytes, external + heapUsed);
      }, 1);
      const startedAt = performance.now();
      for (const path of ["/v1/responses", "/v1/embeddings"]) {
        const reply = await sendRawRequest(gateway.url + path, { headers, body });
        expect(reply.status).toBe(413);
        expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
      }
      clearInterval(watch);
      expect(performance.now() - startedAt).toBeLessThan(5000);
      expect(peakBytes - before.external - before.heapUsed).toBeLessThan(32 * megabyte);
      expect(upstream.requests).toEqual([]);
    },
  );

  test("is limited by its decompressed size for uploads too", async () => {
    const { gateway } = await start();
    const headers = {
      "content-type": "multipart/form-data; boundary=x",
      "content-encoding": "gzip",
    };
    const body = zlib.gzipSync(Buffer.alloc(16 * megabyte, " "));
    const { status } = await sendRawRequest(`${gateway.url}/v1/audio/transcriptions`, {
      headers,
      body,
    });
    expect(status).toBe(413);
  });

  test("of a broken upload is a 400, before and after its model", async () => {
    const { gateway } = await start();
    const headers = {
      "content-type": "multipart/form-data; boundary=line",
      "content-encoding": "gzip",
    };
    const noise = randomBytes(200_000);
    for (const fields of [
      [formatField("model", "up/m"), formatFile(noise)],
      [formatFile(noise), formatField("model", "up/m")],
    ]) {
      const body = zlib.gzipSync(formatUpload(...fields)).subarray(0, 150_000);
      const { status, text } = await sendRawRequest(`${gateway.url}/v1/images/edits`, {
        headers,
        body,
      });
      expect(status).toBe(400);
      expect(text).toContain("decompressed");
    }
  });

  test("in an unknown encoding is a 415 that names the supported ones", async () => {
    const { gateway } = await start();
    for (const encoding of ["snappy", "gzip, br", "compress"]) {
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const { status, text } = await sendRawRequest(`${gateway.url}/v1/responses`, {
        headers,
        body: "x",
      });
      expect(status).toBe(415);
      expect(text).toContain("zstd, gzip, br, deflate");
      expect(JSON.parse(text)).toMatchObject({ error: { code: "encoding_not_supported" } });
    }
  });

  test("that is corrupt, truncated or not compressed at all is a 400", async () => {
    const { gateway } = await start();
    const compressed = zlib.gzipSync(JSON.stringify(hello));
    const broken = Buffer.from(compressed);
    broken[compressed.length - 20] = (broken[compressed.length - 20] ?? 0) ^ 0xff;
    for (const body of [broken, compressed.subarray(0, -12), Buffer.from(JSON.stringify(hello))]) {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      const { status, text } = await sendRawRequest(`${gateway.url}/v1/responses`, {
        headers,
        body,
      });
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ error: { code: "invalid_json" } });
    }
  });
});

describe("JSON", () => {
  test("that is nested too deeply is a 400 on every route and is not sent upstream", async () => {
    const { gateway, upstream } = await start("");
    const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    for (const levels of [301, 5_000, 200_000])
      for (const [path, body] of [
        ["/responses", `{"model":"up/m","input":${deep(levels)}}`],
        ["/responses", `{"model":"up/m","input":"x","metadata":${deep(levels)}}`],
        ["/chat/completions", `{"model":"up/m","messages":${deep(levels)}}`],
        ["/embeddings", `{"model":"up/m","input":${deep(levels)}}`],
        ["/images/generations", deep(levels)],
      ] as const) {
        const response = await gateway.post(path, body);
        const { error } = (await response.json()) as { error: { type: string } };
        expect([path, levels, response.status, error.type]).toEqual([
          path,
          levels,
          400,
          "invalid_request_error",
        ]);
      }
    expect(upstream.requests).toEqual([]);
  });

  test("that is invalid, not an object or empty is a 400 with a message", async () => {
    const { gateway } = await start("");
    for (const path of ["/responses", "/chat/completions", "/embeddings", "/audio/speech"])
      for (const body of ["", "   ", "{", "nonsense", "[]", "null", "7", '"x"', "{}{}", "\u0000"]) {
        const response = await gateway.post(path, body);
        expect([path, body, response.status]).toEqual([path, body, 400]);
        expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
      }
  });

  test("with keys such as __proto__ does not pollute prototypes", async () => {
    const { gateway, upstream } = await start("");
    const body = `{"model":"up/m","stream":true,"input":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`;
    expect((await gateway.post("/responses", body)).status).toBe(200);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("the headers of a request", () => {
  test("that are too long are a 431", async () => {
    const { gateway } = await start();
    const long = `x-long: ${"x".repeat(64 * 1024)}`;
    const rawReply = await sendBytes(
      gateway.url,
      `GET / HTTP/1.1\r\nhost: localhost\r\n${long}\r\n\r\n`,
    );
    expect(rawReply).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
    const { error } = JSON.parse(rawReply.slice(rawReply.indexOf("\r\n\r\n"))) as { error: object };
    expect(error).toMatchObject({ type: "invalid_request_error", param: null });
  });

  test("that never end are cut off, and so is a body", async () => {
    const { gateway } = await start("", { timeouts: { headersMs: 150, requestMs: 400 } });
    const incompleteRequests = [
      "GET / HTTP/1.1\r\nhost: localhost\r\n",
      "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
    ];
    for (const incompleteRequest of incompleteRequests) {
      const { socket, received, ended } = await openConnection(gateway.url);
      socket.write(incompleteRequest);
      const drip = setInterval(() => socket.write("x"), 20);
      await ended;
      clearInterval(drip);
      expect(received()).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
      expect(received()).toContain('"code":"request_timeout"');
    }
  });

  test("of many silent connections do not keep other clients out", async () => {
    const { gateway } = await start();
    const idle = await Promise.all(Array.from({ length: 200 }, () => openConnection(gateway.url)));
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    for (const { socket } of idle) socket.destroy();
  });
});

test("a client that disconnects in the middle of its body causes no upstream request and is logged", async () => {
  const { gateway, upstream } = await start();
  const { socket } = await openConnection(gateway.url);
  const head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n";
  socket.write(`${head}{"model":"up/m"`);
  await sleep(30);
  socket.destroy();
  await waitUntil("the request has ended", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
    client_disconnected: true,
    status: 499,
  });
  expect(upstream.requests).toEqual([]);
});
