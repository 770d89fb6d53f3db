import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { measureLongestBlock, measureSlowdown } from "../../../test/cpu-time.ts";
import { negotiateEncoding } from "../src/http/serve-page.ts";
import { temporaryFolder } from "./deltawire-process.ts";
import { sendRawRequest, sendBytes } from "./raw-http.ts";
import { hello, helloChat, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

/* The cost of a request within the limits: no turn of the event loop may take more than 200 ms. */

const maxTurnMs = 200;
const megabyte = 1024 * 1024;

const start = (toml = "[server]\nport = 0\n") =>
  gatewayFixture((_request, response) => streamText(response, "fine"), { toml });

describe("Accept-Encoding", () => {
  test("is matched against the supported encodings in our order of preference", () => {
    const choose = (header?: string) => negotiateEncoding(header, ["br", "gzip"]);
    expect(choose("gzip, deflate, br")).toBe("br");
    expect(choose("GZIP")).toBe("gzip");
    expect(choose(" gzip ; q=1 ,br ; q=0")).toBe("gzip");
    expect(choose("br;q=0.000, gzip;q=0.001")).toBe("gzip");
    expect(choose("br;q=0")).toBeUndefined();
    expect(choose("identity")).toBeUndefined();
    expect(choose("")).toBeUndefined();
    expect(choose(undefined)).toBeUndefined();
  });

  test.each(["gzip ; ", " ", ";", "gzip,", "br;q=0,", "q=0."])(
    "of many %j is parsed in linear time",
    (unit) => {
      const header = `gzip${unit.repeat(200_000)}x`;
      const eighth = header.slice(0, header.length / 8);
      expect(
        measureSlowdown(
          () => negotiateEncoding(eighth, ["br", "gzip"]),
          () => negotiateEncoding(header, ["br", "gzip"]),
        ),
      ).toBeLessThan(4);
    },
  );
});

test("ten headers of 31 KB at once cost no more than reading them", async () => {
  // Accept-Encoding is read only for files of the page, because only these are compressed.
  const pageFolder = temporaryFolder();
  writeFileSync(join(pageFolder, "index.html"), "<!doctype html>".padEnd(5_000, "x"));
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "fine"), {
    toml: '[server]\nport = 0\ntokens = ["token-0123456789abcdef"]\n',
    pageFolder,
  });
  const long = 30_000;
  const fill = (unit: string) => unit.repeat(long / unit.length);
  const headers = [
    ...[" ", "gzip; ", ";", ",", "q=0."].map((unit) => `accept-encoding: gzip${fill(unit)}x`),
    ...[" x", "a", "="].map((unit) => `authorization: Bearer ${fill(unit)}!`),
    ...[";", "=", "deltawire_session=x;", " ; "].map((unit) => `cookie: ${fill(unit)}x`),
    ...["x", ".", "%41", "[", ":8"].map((unit) => `origin: http://${fill(unit)}`),
    ...[";", " ;", "boundary=", 'boundary="'].map(
      (unit) => `content-type: multipart/form-data;${fill(unit)}`,
    ),
    ...["gzip,", " "].map((unit) => `content-encoding: ${fill(unit)}x`),
    ...[",", '"x",', " "].map((unit) => `if-none-match: ${fill(unit)}x`),
    ...["0", "0-,"].map((unit) => `range: bytes=${fill(unit)}`),
    ...["a:1,", ",", " "].map((unit) => `last-event-id: ${fill(unit)}`),
    `x-forwarded-proto: ${fill(",")}`,
    `user-agent: ${fill("codex")}`,
    `idempotency-key: ${fill("x")}`,
  ];
  const targets = ["/", "/openapi.json", "/v1/models", "/api/session", "/api/events?task=x"];
  for (const header of headers)
    for (const target of targets) {
      const one = `GET ${target} HTTP/1.1\r\nhost: localhost\r\n${header}\r\n`;
      const longest = await measureLongestBlock(() =>
        sendBytes(gateway.url, `${`${one}\r\n`.repeat(9)}${one}connection: close\r\n\r\n`),
      );
      expect([header.slice(0, 40), target, longest < maxTurnMs]).toEqual([
        header.slice(0, 40),
        target,
        true,
      ]);
    }
}, 60_000);

test("a target of 31 KB costs no more than reading it", async () => {
  const { gateway } = await start();
  for (const unit of ["/", "/..", "%2e%2e/", "%", "%41", "?", "&a", "&task=a:1", "+", "=", "#"]) {
    for (const before of ["/", "/v1/models/", "/api/chats?q=", "/api/events?", "/assets/"]) {
      const target = before + unit.repeat(30_000 / unit.length);
      const longest = await measureLongestBlock(() =>
        sendBytes(
          gateway.url,
          `GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
        ),
      );
      expect([before, unit, longest < maxTurnMs]).toEqual([before, unit, true]);
    }
  }
}, 60_000);

test("/openapi.json is built once, and a client that has it gets a 304", async () => {
  const { gateway } = await start();
  const first = await fetch(`${gateway.url}/openapi.json`);
  const etag = first.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  const second = await fetch(`${gateway.url}/openapi.json`, {
    headers: { "if-none-match": `"other", ${etag}` },
  });
  expect([second.status, await second.text()]).toEqual([304, ""]);
  expect((await fetch(`${gateway.url}/openapi.json`)).headers.get("etag")).toBe(etag);
});

describe("a body of many values", () => {
  const encodings = {
    zstd: zlib.zstdCompressSync,
    gzip: zlib.gzipSync,
    br: (bytes: Buffer) =>
      zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
  };
  const many = Buffer.from(`{"model":"up/m","input":[${"{},".repeat(15 * megabyte)}{}]}`);

  test.each(Object.entries(encodings))(
    "from six clients at once, compressed with %s, is rejected without blocking or much memory",
    async (encoding, pack) => {
      const { gateway, upstream } = await start();
      const body = pack(many);
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const before = process.memoryUsage.rss();
      let longestTurn = 0;
      const longest = await measureLongestBlock(async () => {
        const replies = Array.from({ length: 6 }, async () => {
          const reply = await sendRawRequest(`${gateway.url}/v1/responses`, { headers, body });
          longestTurn = Math.max(longestTurn, process.memoryUsage.rss());
          expect(reply.status).toBe(413);
          expect(JSON.parse(reply.text)).toMatchObject({
            error: {
              code: "request_too_large",
              message:
                "the body has more than 250000 JSON values; send fewer, or raise server.max_json_values",
            },
          });
        });
        await Promise.all(replies);
      });
      expect(longest).toBeLessThan(maxTurnMs);
      expect(longestTurn - before).toBeLessThan(200 * megabyte);
      expect(upstream.requests).toEqual([]);
    },
    20_000,
  );

  test("is rejected at the configured number", async () => {
    const { gateway } = await start("[server]\nport = 0\nmax_json_values = 1000\n");
    const body = (count: number) => ({ ...hello, metadata: { list: Array(count).fill("x") } });
    expect((await gateway.post("/responses", body(900))).status).toBe(200);
    const rejected = await gateway.post("/responses", body(1000));
    expect(rejected.status).toBe(413);
    expect(await rejected.text()).toContain("more than 1000 JSON values");
  });

  test("is served up to the limit, without blocking the event loop", async () => {
    const { gateway, upstream } = await start();
    const words = "some words of a message that a person or a model wrote";
    const messages = Array.from({ length: 48_000 }, (_, nth) => ({
      role: nth % 2 === 0 ? "user" : "assistant",
      content: `${words} ${nth}`,
    }));
    for (const [path, body] of [
      ["/chat/completions", JSON.stringify({ ...helloChat, messages })],
      ["/responses", JSON.stringify({ ...hello, input: messages })],
    ] as const) {
      const longest = await measureLongestBlock(async () => {
        const reply = await gateway.post(path, body);
        expect(reply.status).toBe(200);
        await reply.text();
      });
      // The scripted upstream of this process parses the request as well.
      expect(longest).toBeLessThan(2 * maxTurnMs);
    }
    expect(upstream.requests).toHaveLength(2);
  }, 20_000);

  test("is rejected if they are all fields of the request itself", async () => {
    const { gateway, upstream } = await start();
    const fields = Object.fromEntries(Array.from({ length: 1001 }, (_, nth) => [`f${nth}`, 1]));
    for (const [path, body] of [
      ["/responses", hello],
      ["/chat/completions", helloChat],
    ] as const) {
      const reply = await gateway.post(path, { ...body, ...fields });
      expect(reply.status).toBe(400);
      expect(await reply.text()).toContain("more than 1000 fields");
    }
    expect(upstream.requests).toEqual([]);
  });

  test("is served if they are tokens for embeddings: 300,000 numbers", async () => {
    const { gateway, upstream } = await start();
    const input = Array.from({ length: 300 }, () => Array.from({ length: 1000 }, (_, n) => n));
    const reply = await gateway.post("/embeddings", JSON.stringify({ model: "up/m", input }));
    expect(reply.status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });
});

test("a body of one long string is served up to the size limit", async () => {
  const { gateway, upstream } = await start();
  const image = `data:image/png;base64,${"A".repeat(50 * megabyte)}`;
  const content = [{ type: "input_image", image_url: image }];
  const body = JSON.stringify({ ...hello, input: [{ role: "user", content }] });
  const longest = await measureLongestBlock(async () => {
    expect((await sendRawRequest(`${gateway.url}/v1/responses`, { body })).status).toBe(200);
  });
  expect(upstream.requests).toHaveLength(1);
  expect(longest).toBeLessThan(3 * maxTurnMs);
}, 20_000);

test("instructions of megabytes are sent upstream, but not repeated in the events of the reply", async () => {
  const { gateway, upstream } = await start();
  const instructions = "\n".repeat(10 * megabyte);
  const body = JSON.stringify({ ...hello, instructions });
  const longest = await measureLongestBlock(async () => {
    const reply = await sendRawRequest(`${gateway.url}/v1/responses`, { body });
    expect([reply.status, reply.text.length < 100_000]).toEqual([200, true]);
  });
  expect(upstream.requests).toHaveLength(1);
  expect(longest).toBeLessThan(3 * maxTurnMs);
}, 20_000);

test("an error does not repeat megabytes of a request", async () => {
  const { gateway } = await start();
  const long = "x".repeat(megabyte);
  const role = { messages: [{ role: long, content: "Hello" }] };
  for (const [path, body] of [
    ["/api/tasks", { [long]: 1 }],
    ["/api/chats", { [long]: 1 }],
    ["/api/chats", { settings: { [long]: 1 } }],
    ["/v1/chat/completions", { ...helloChat, ...role }],
    ["/v1/responses", { ...hello, previous_response_id: long }],
  ] as const) {
    const reply = await sendRawRequest(gateway.url + path, { body: JSON.stringify(body) });
    expect([path, reply.status, reply.text.length < 20_000]).toEqual([path, 400, true]);
  }
});

test("a zstd frame with a window of 128 MB is rejected before memory is allocated for it", async () => {
  const { gateway } = await start();
  // RFC 8878: magic number, a descriptor without a single segment, a window of 2^27 bytes, one raw block.
  const frame = Buffer.from("28b52ffd0088110000", "hex");
  const headers = { "content-encoding": "zstd" };
  const reply = await sendRawRequest(`${gateway.url}/v1/responses`, {
    headers,
    body: Buffer.concat([frame, Buffer.from("{}")]),
  });
  expect(reply.status).toBe(400);
  expect(reply.text).toContain("cannot be decompressed");
});

test("bodies that together exceed the memory limit get a 503 until others have ended", async () => {
  const gate: (() => void)[] = [];
  const { gateway } = await gatewayFixture(
    async (_request, response) => {
      await new Promise<void>((resolve) => gate.push(resolve));
      streamText(response, "fine");
    },
    { toml: "[server]\nport = 0\nmax_body_mb = 20\n" },
  );
  const body = JSON.stringify({ ...hello, input: "x".repeat(19 * megabyte) });
  const running = Array.from({ length: 4 }, () =>
    sendRawRequest(`${gateway.url}/v1/responses`, { body }),
  );
  await waitUntil("four upstream requests", () => gate.length === 4);
  const rejected = await sendRawRequest(`${gateway.url}/v1/responses`, { body });
  expect([rejected.status, rejected.headers["retry-after"]]).toEqual([503, "2"]);
  expect(JSON.parse(rejected.text)).toMatchObject({ error: { code: "server_is_overloaded" } });
  const small = sendRawRequest(`${gateway.url}/v1/responses`, { body: JSON.stringify(hello) });
  await waitUntil("a small upstream request", () => gate.length === 5);
  for (const open of gate) open();
  expect((await Promise.all([...running, small])).map(({ status }) => status)).toEqual(
    Array(5).fill(200),
  );
  const repeated = sendRawRequest(`${gateway.url}/v1/responses`, { body });
  await waitUntil("the upstream request", () => gate.length === 6);
  gate[5]?.();
  expect((await repeated).status).toBe(200);
}, 30_000);
