import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { longestTurn, slowdown } from "../../../test/work-time.ts";
import { acceptedEncoding } from "../src/http/serve-page.ts";
import { temporaryFolder } from "./deltawire-process.ts";
import { ask, say } from "./raw-http.ts";
import { hello, helloChat, scene, until } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

/* What a request may cost: no turn of the event loop over 200 ms, whatever is within the limits. */

const maxTurnMs = 200;
const megabyte = 1024 * 1024;

const start = (toml = "[server]\nport = 0\n") =>
  scene((_request, response) => says(response, "fine"), { toml });

describe("Accept-Encoding", () => {
  test("names what is accepted, the best of ours first", () => {
    const choose = (header?: string) => acceptedEncoding(header, ["br", "gzip"]);
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
    "of many %j takes time that grows with its length only",
    (unit) => {
      const header = `gzip${unit.repeat(200_000)}x`;
      const eighth = header.slice(0, header.length / 8);
      expect(
        slowdown(
          () => acceptedEncoding(eighth, ["br", "gzip"]),
          () => acceptedEncoding(header, ["br", "gzip"]),
        ),
      ).toBeLessThan(4);
    },
  );
});

test("no header of 31 KB costs more than its reading, ten at once", async () => {
  // Only files of a page are compressed, so that only there Accept-Encoding is read.
  const page = temporaryFolder();
  writeFileSync(join(page, "index.html"), "<!doctype html>".padEnd(5_000, "x"));
  const { gateway } = await scene((_request, response) => says(response, "fine"), {
    toml: '[server]\nport = 0\ntokens = ["token-0123456789abcdef"]\n',
    page,
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
      const longest = await longestTurn(() =>
        say(gateway.url, `${`${one}\r\n`.repeat(9)}${one}connection: close\r\n\r\n`),
      );
      expect([header.slice(0, 40), target, longest < maxTurnMs]).toEqual([
        header.slice(0, 40),
        target,
        true,
      ]);
    }
}, 60_000);

test("no target of 31 KB costs more than its reading", async () => {
  const { gateway } = await start();
  for (const unit of ["/", "/..", "%2e%2e/", "%", "%41", "?", "&a", "&task=a:1", "+", "=", "#"]) {
    for (const before of ["/", "/v1/models/", "/api/chats?q=", "/api/events?", "/assets/"]) {
      const target = before + unit.repeat(30_000 / unit.length);
      const longest = await longestTurn(() =>
        say(gateway.url, `GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`),
      );
      expect([before, unit, longest < maxTurnMs]).toEqual([before, unit, true]);
    }
  }
}, 60_000);

test("/openapi.json is built once, and a client that has it gets 304", async () => {
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
    "that six clients send at once, packed in %s, is refused without a block or much memory",
    async (encoding, pack) => {
      const { gateway, upstream } = await start();
      const body = pack(many);
      const headers = { "content-type": "application/json", "content-encoding": encoding };
      const before = process.memoryUsage.rss();
      let most = 0;
      const longest = await longestTurn(async () => {
        const replies = Array.from({ length: 6 }, async () => {
          const reply = await ask(`${gateway.url}/v1/responses`, { headers, body });
          most = Math.max(most, process.memoryUsage.rss());
          expect(reply.status).toBe(413);
          expect(JSON.parse(reply.text)).toMatchObject({
            error: {
              code: "request_too_large",
              message:
                "the body has more than 250000 JSON values; raise server.max_json_values or send fewer",
            },
          });
        });
        await Promise.all(replies);
      });
      expect(longest).toBeLessThan(maxTurnMs);
      expect(most - before).toBeLessThan(200 * megabyte);
      expect(upstream.requests).toEqual([]);
    },
    20_000,
  );

  test("is refused at the configured number", async () => {
    const { gateway } = await start("[server]\nport = 0\nmax_json_values = 1000\n");
    const body = (count: number) => ({ ...hello, metadata: { list: Array(count).fill("x") } });
    expect((await gateway.post("/responses", body(900))).status).toBe(200);
    const refused = await gateway.post("/responses", body(1000));
    expect(refused.status).toBe(413);
    expect(await refused.text()).toContain("more than 1000 JSON values");
  });

  test("is served up to the limit, and no step of it blocks", async () => {
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
      const longest = await longestTurn(async () => {
        const reply = await gateway.post(path, body);
        expect(reply.status).toBe(200);
        await reply.text();
      });
      // The scripted upstream of this process parses the request as well.
      expect(longest).toBeLessThan(2 * maxTurnMs);
    }
    expect(upstream.requests).toHaveLength(2);
  }, 20_000);

  test("is refused if they are all fields of the request itself", async () => {
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

  test("that are tokens to embed is served: 300,000 numbers", async () => {
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
  const longest = await longestTurn(async () => {
    expect((await ask(`${gateway.url}/v1/responses`, { body })).status).toBe(200);
  });
  expect(upstream.requests).toHaveLength(1);
  expect(longest).toBeLessThan(3 * maxTurnMs);
}, 20_000);

test("instructions of megabytes are sent on, and not repeated in the events of the reply", async () => {
  const { gateway, upstream } = await start();
  const instructions = "\n".repeat(10 * megabyte);
  const body = JSON.stringify({ ...hello, instructions });
  const longest = await longestTurn(async () => {
    const reply = await ask(`${gateway.url}/v1/responses`, { body });
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
    const reply = await ask(gateway.url + path, { body: JSON.stringify(body) });
    expect([path, reply.status, reply.text.length < 20_000]).toEqual([path, 400, true]);
  }
});

test("a zstd frame that wants a window of 128 MB is refused before it gets one", async () => {
  const { gateway } = await start();
  // RFC 8878: magic number, a descriptor without a single segment, a window of 2^27 bytes, one raw block.
  const frame = Buffer.from("28b52ffd0088110000", "hex");
  const headers = { "content-encoding": "zstd" };
  const reply = await ask(`${gateway.url}/v1/responses`, {
    headers,
    body: Buffer.concat([frame, Buffer.from("{}")]),
  });
  expect(reply.status).toBe(400);
  expect(reply.text).toContain("cannot be unpacked");
});

test("bodies that together take more than the memory for them get 503 until others have ended", async () => {
  const gate: (() => void)[] = [];
  const { gateway } = await scene(
    async (_request, response) => {
      await new Promise<void>((resolve) => gate.push(resolve));
      says(response, "fine");
    },
    { toml: "[server]\nport = 0\nmax_body_mb = 20\n" },
  );
  const body = JSON.stringify({ ...hello, input: "x".repeat(19 * megabyte) });
  const running = Array.from({ length: 4 }, () => ask(`${gateway.url}/v1/responses`, { body }));
  await until("four are asked", () => gate.length === 4);
  const refused = await ask(`${gateway.url}/v1/responses`, { body });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "2"]);
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "server_is_overloaded" } });
  const small = ask(`${gateway.url}/v1/responses`, { body: JSON.stringify(hello) });
  await until("a small one is asked", () => gate.length === 5);
  for (const open of gate) open();
  expect((await Promise.all([...running, small])).map(({ status }) => status)).toEqual(
    Array(5).fill(200),
  );
  const again = ask(`${gateway.url}/v1/responses`, { body });
  await until("it is asked", () => gate.length === 6);
  gate[5]?.();
  expect((await again).status).toBe(200);
}, 30_000);
