import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { field, file, upload } from "./multipart-body.ts";
import { ask, connection, say } from "./raw-http.ts";
import type { StartOptions } from "./running-gateway.ts";
import { hello, pause, scene, until } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

const megabyte = 1024 * 1024;
const small = `[server]\nport = 0\nmax_body_mb = 1\n`;
const start = (toml = small, options: StartOptions = {}) =>
  scene((_request, response) => says(response, "fine"), { toml, ...options });

const tooLarge = { error: { code: "request_too_large", type: "invalid_request_error" } };

async function* spaces(count: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(64 * 1024, " ");
  for (let sent = 0; sent < count; sent += piece.length) yield piece;
}

describe("a body that is too large", () => {
  test("is refused by its content-length before it is read", async () => {
    const { gateway, upstream } = await start();
    const { socket, received, ended } = await connection(gateway.url);
    const head = `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${2 * megabyte}\r\n\r\n{"model"`);
    await ended;
    expect(received()).toMatch(/^HTTP\/1.1 413 /);
    expect(received()).toContain("request_too_large");
    expect(upstream.requests).toEqual([]);
  });

  test("is refused when it comes in chunks and passes the limit, whatever route it is for", async () => {
    const { gateway, upstream } = await start();
    for (const [path, type] of [
      ["/v1/responses", "application/json"],
      ["/v1/chat/completions", "application/json"],
      ["/v1/embeddings", "application/json"],
      ["/v1/audio/transcriptions", "multipart/form-data; boundary=x"],
    ] as const) {
      const body = Readable.from(spaces(1.5 * megabyte));
      const reply = await ask(gateway.url + path, { headers: { "content-type": type }, body });
      expect([path, reply.status]).toEqual([path, 413]);
      expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
      expect(reply.text).toContain("1 MB");
    }
    expect(upstream.requests).toEqual([]);
  });

  test("is refused when its file passes the limit behind the model, and that is not the upstream's fault", async () => {
    const { gateway } = await start();
    const headers = { "content-type": "multipart/form-data; boundary=line" };
    const opening = upload(field("model", "up/m")).subarray(0, -"--line--\r\n".length);
    for (let round = 0; round < 6; round += 1) {
      async function* body(): AsyncGenerator<Buffer> {
        yield opening;
        yield* spaces(1.5 * megabyte);
      }
      const reply = await ask(`${gateway.url}/v1/images/edits`, {
        headers,
        body: Readable.from(body(), { objectMode: false }),
      });
      expect(reply.status).toBe(413);
      expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
    }
    expect((await gateway.post("/responses", hello)).status).toBe(200);
  });

  test("just below the limit is served", async () => {
    const { gateway } = await start();
    const body = { ...hello, input: "x".repeat(megabyte - 200) };
    expect((await gateway.post("/responses", body)).status).toBe(200);
  });
});

describe("a packed body", () => {
  const packers = {
    gzip: zlib.gzipSync,
    "x-gzip": zlib.gzipSync,
    deflate: zlib.deflateSync,
    br: (bytes: Buffer) =>
      zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
    zstd: zlib.zstdCompressSync,
    identity: (bytes: Buffer) => bytes,
  };

  test.each(Object.entries(packers))("in %s is unpacked", async (encoding, pack) => {
    const { gateway, upstream } = await start();
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const body = pack(Buffer.from(JSON.stringify({ ...hello, input: "Grüße" })));
    expect((await ask(`${gateway.url}/v1/responses`, { headers, body })).status).toBe(200);
    expect(JSON.stringify(upstream.requests[0]?.body)).toContain("Grüße");
    expect(upstream.requests[0]?.headers["content-encoding"]).toBeUndefined();
  });

  test.each(["gzip", "deflate", "br", "zstd"] as const)(
    "in %s that unpacks to far more than the limit is refused at once, and is never held",
    async (encoding) => {
      const { gateway, upstream } = await start();
      const body = packers[encoding](Buffer.alloc(128 * megabyte, " "));
      expect(body.length).toBeLessThan(megabyte);
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const before = process.memoryUsage();
      let most = 0;
      const watch = setInterval(() => {
        const { external, heapUsed } = process.memoryUsage();
        most = Math.max(most, external + heapUsed);
      }, 1);
      const began = performance.now();
      for (const path of ["/v1/responses", "/v1/embeddings"]) {
        const reply = await ask(gateway.url + path, { headers, body });
        expect(reply.status).toBe(413);
        expect(JSON.parse(reply.text)).toMatchObject(tooLarge);
      }
      clearInterval(watch);
      expect(performance.now() - began).toBeLessThan(5000);
      expect(most - before.external - before.heapUsed).toBeLessThan(32 * megabyte);
      expect(upstream.requests).toEqual([]);
    },
  );

  test("that is an upload is bounded by what it unpacks to as well", async () => {
    const { gateway } = await start();
    const headers = {
      "content-type": "multipart/form-data; boundary=x",
      "content-encoding": "gzip",
    };
    const body = zlib.gzipSync(Buffer.alloc(16 * megabyte, " "));
    const { status } = await ask(`${gateway.url}/v1/audio/transcriptions`, { headers, body });
    expect(status).toBe(413);
  });

  test("that is an upload and broken is a 400, before its model and behind it", async () => {
    const { gateway } = await start();
    const headers = {
      "content-type": "multipart/form-data; boundary=line",
      "content-encoding": "gzip",
    };
    const noise = randomBytes(200_000);
    for (const fields of [
      [field("model", "up/m"), file(noise)],
      [file(noise), field("model", "up/m")],
    ]) {
      const body = zlib.gzipSync(upload(...fields)).subarray(0, 150_000);
      const { status, text } = await ask(`${gateway.url}/v1/images/edits`, { headers, body });
      expect(status).toBe(400);
      expect(text).toContain("unpacked");
    }
  });

  test("in an encoding that nobody knows is a 415 that names those that work", async () => {
    const { gateway } = await start();
    for (const encoding of ["snappy", "gzip, br", "compress"]) {
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const { status, text } = await ask(`${gateway.url}/v1/responses`, { headers, body: "x" });
      expect(status).toBe(415);
      expect(text).toContain("zstd, gzip, br, deflate");
      expect(JSON.parse(text)).toMatchObject({ error: { code: "encoding_not_supported" } });
    }
  });

  test("that is broken, cut, or not packed at all is a 400", async () => {
    const { gateway } = await start();
    const whole = zlib.gzipSync(JSON.stringify(hello));
    const broken = Buffer.from(whole);
    broken[whole.length - 20] = (broken[whole.length - 20] ?? 0) ^ 0xff;
    for (const body of [broken, whole.subarray(0, -12), Buffer.from(JSON.stringify(hello))]) {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      const { status, text } = await ask(`${gateway.url}/v1/responses`, { headers, body });
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ error: { code: "invalid_json" } });
    }
  });
});

describe("JSON", () => {
  test("that is nested past all reason is a 400 on every route, and is not sent on", async () => {
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

  test("that is none, or no object, or empty, is a 400 that says so", async () => {
    const { gateway } = await start("");
    for (const path of ["/responses", "/chat/completions", "/embeddings", "/audio/speech"])
      for (const body of ["", "   ", "{", "nonsense", "[]", "null", "7", '"x"', "{}{}", "\u0000"]) {
        const response = await gateway.post(path, body);
        expect([path, body, response.status]).toEqual([path, body, 400]);
        expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
      }
  });

  test("with a name that JavaScript holds dear changes nothing of the gateway", async () => {
    const { gateway, upstream } = await start("");
    const body = `{"model":"up/m","stream":true,"input":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}`;
    expect((await gateway.post("/responses", body)).status).toBe(200);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("the head of a request", () => {
  test("that is too long is a 431", async () => {
    const { gateway } = await start();
    const long = `x-long: ${"x".repeat(64 * 1024)}`;
    const said = await say(gateway.url, `GET / HTTP/1.1\r\nhost: localhost\r\n${long}\r\n\r\n`);
    expect(said).toMatch(/^HTTP\/1.1 431 /);
    const { error } = JSON.parse(said.slice(said.indexOf("\r\n\r\n"))) as { error: object };
    expect(error).toMatchObject({ type: "invalid_request_error", param: null });
  });

  test("that never ends is cut off, and so is a body", async () => {
    const { gateway } = await start("", { patience: { headMs: 150, wholeMs: 400 } });
    const beginnings = [
      "GET / HTTP/1.1\r\nhost: localhost\r\n",
      "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
    ];
    for (const beginning of beginnings) {
      const { socket, received, ended } = await connection(gateway.url);
      socket.write(beginning);
      const drip = setInterval(() => socket.write("x"), 20);
      await ended;
      clearInterval(drip);
      expect(received()).toMatch(/^HTTP\/1.1 408 /);
      expect(received()).toContain('"code":"request_timeout"');
    }
  });

  test("of many connections that say nothing keeps nobody else out", async () => {
    const { gateway } = await start();
    const idle = await Promise.all(Array.from({ length: 200 }, () => connection(gateway.url)));
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    for (const { socket } of idle) socket.destroy();
  });
});

test("a client that leaves in the middle of its body costs nothing and is logged as gone", async () => {
  const { gateway, upstream } = await start();
  const { socket } = await connection(gateway.url);
  const head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n";
  socket.write(`${head}{"model":"up/m"`);
  await pause(30);
  socket.destroy();
  await until("the request is over", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ left: true, status: 499 });
  expect(upstream.requests).toEqual([]);
});
