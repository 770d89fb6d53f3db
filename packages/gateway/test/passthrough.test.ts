import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { formatField, multipartHeaders, formatUpload } from "./multipart-body.ts";
import { sendRawRequest } from "./raw-http.ts";
import { upstreamToml } from "./test-gateway.ts";
import {
  testGateway,
  testUpstream,
  sleep,
  gatewayFixture,
  waitUntilStable,
  waitUntil,
} from "./gateway-fixture.ts";
import { sendError } from "./scripted-upstream.ts";
import { sendJson } from "./wire-replies.ts";

const jsonPaths = ["/embeddings", "/images/generations", "/audio/speech"];
const uploadPaths = ["/images/edits", "/audio/transcriptions", "/audio/translations"];
const megabyte = 1024 * 1024;

describe("JSON", () => {
  test.each(jsonPaths)("to %s reaches the model's upstream with all its fields", async (path) => {
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      sendJson(response, { ok: 1 }),
    );
    const body = { model: "up/m", input: "Grüße", dimensions: 7, x_unknown: [{ deep: null }] };
    const response = await gateway.post(path, body);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: 1 });
    expect(upstream.requests).toMatchObject([
      { method: "POST", path: `/v1${path}`, body: { ...body, model: "m" } },
    ]);
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      model: "up/m",
      upstream: "up",
      upstream_model: "m",
      status: 200,
    });
  });

  test("is retried before the first byte, as often as the upstream's setting allows", async () => {
    let requestCount = 0;
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      if (requestCount === 1) sendError(response, 500, { message: "oops" });
      else if (requestCount === 2) response.destroy();
      else sendJson(response, { data: [] });
    });
    const response = await gateway.post("/embeddings", { model: "up/m", input: "x" });
    expect(await response.json()).toEqual({ data: [] });
    expect(upstream.requests).toHaveLength(3);
  });

  test("is rejected in time, even if the error body never ends", async () => {
    const closed = Promise.withResolvers<void>();
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        response.writeHead(400, { "content-type": "text/plain" });
        const trickle = setInterval(() => response.write("no "), 100);
        response.once("close", () => {
          clearInterval(trickle);
          closed.resolve();
        });
      },
      { upstream: { retries: 0 } },
    );
    const response = await gateway.post("/embeddings", { model: "up/m", input: "x" });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("no no"),
    ]);
    await closed.promise;
  }, 60_000);

  test("is sent to the next upstream of a list if the first is down, but not if the request is invalid", async () => {
    let status = 503;
    const [a, b] = [
      await testUpstream((_request, response) => sendError(response, status, { message: "no" })),
      await testUpstream((_request, response) => sendJson(response, { from: "b" })),
    ];
    const gateway = await testGateway(
      `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", a.url, { retries: 0 })}${upstreamToml("b", b.url)}`,
    );
    const body = { model: "best", input: "x" };
    expect(await (await gateway.post("/embeddings", body)).json()).toEqual({ from: "b" });
    expect(b.requests[0]?.body["model"]).toBe("y");
    status = 400;
    expect((await gateway.post("/embeddings", body)).status).toBe(400);
    expect(b.requests).toHaveLength(1);
  });

  test("that fails upstream results in an error in OpenAI's format", async () => {
    const { gateway } = await gatewayFixture(
      ({ body }, response) =>
        sendError(response, Number(body["user"]), { message: "because", code: "c", param: "p" }),
      { upstream: { retries: 0 } },
    );
    const fail = async (user: number) => {
      const response = await gateway.post("/embeddings", { model: "up/m", input: "x", user });
      return [response.status, await response.json()];
    };
    expect(await fail(400)).toMatchObject([400, { error: { code: "c", param: "p" } }]);
    expect(await fail(404)).toMatchObject([404, { error: { type: "not_found_error" } }]);
    expect(await fail(500)).toMatchObject([502, { error: { type: "server_error" } }]);
    expect(await fail(429)).toMatchObject([429, { error: { code: "rate_limit_exceeded" } }]);
  });
});

describe("a reply", () => {
  const tts = { model: "up/m", input: "Hello", voice: "x" };

  test("is forwarded while it is generated, with its content type and no other headers", async () => {
    let go = (): void => undefined;
    const { gateway } = await gatewayFixture(async (_request, response) => {
      response.writeHead(200, { "content-type": "audio/mpeg", "set-cookie": "a=b", "x-own": "1" });
      response.write(Buffer.from([0xff, 0xfb, 0x00, 0x80]));
      await new Promise<void>((resolve) => (go = resolve));
      response.end(Buffer.from([1, 2, 3]));
    });
    const response = await gateway.post("/audio/speech", tts);
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect([response.headers.get("set-cookie"), response.headers.get("x-own")]).toEqual([
      null,
      null,
    ]);
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString("hex")).toBe("fffb0080");
    go();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString("hex")).toBe("010203");
    expect((await reader?.read())?.done).toBe(true);
  });

  test("of events, such as transcripts and images, is forwarded event by event", async () => {
    const { gateway } = await gatewayFixture((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('event: transcript.text.delta\ndata: {"delta":"Hi"}\n\n');
    });
    const { text, headers } = await sendRawRequest(`${gateway.url}/v1/audio/transcriptions`, {
      headers: multipartHeaders,
      body: formatUpload(formatField("model", "up/m"), formatField("stream", "true")),
    });
    expect(headers["content-type"]).toBe("text/event-stream");
    expect(text).toBe('event: transcript.text.delta\ndata: {"delta":"Hi"}\n\n');
  });

  test("is not forwarded faster than the client reads it", async () => {
    let sent = 0;
    const { gateway } = await gatewayFixture((_request, response) => {
      response.writeHead(200, { "content-type": "audio/wav" });
      const piece = Buffer.alloc(64 * 1024);
      const writeMore = (): void => {
        while (sent < 256 * megabyte) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once("drain", writeMore);
        }
      };
      writeMore();
    });
    const client = httpRequest(`${gateway.url}/v1/audio/speech`, { method: "POST" });
    client.end(JSON.stringify(tts));
    const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
    reply.pause();
    expect(await waitUntilStable(() => sent)).toBeLessThan(32 * megabyte);
    client.destroy();
  });

  test("is visibly incomplete if the upstream truncates it", async () => {
    const { gateway } = await gatewayFixture(async (_request, response) => {
      response.writeHead(200, { "content-type": "image/png" });
      response.write("half");
      await sleep(20);
      response.destroy();
    });
    const { status, text, isComplete } = await sendRawRequest(
      `${gateway.url}/v1/images/generations`,
      {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "up/m", prompt: "x" }),
      },
    );
    expect([status, text, isComplete]).toEqual([200, "half", false]);
    await waitUntil("the request is logged", () =>
      gateway.lines.some((line) => line.includes("failure")),
    );
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      failure: "upstream_stream_truncated",
    });
    const upstreams = await (await fetch(`${gateway.url}/deltawire/upstreams`)).text();
    expect(upstreams).toContain("connection lost");
  });

  test.each(["before the first byte", "in the middle"])(
    "is aborted upstream within 100 ms when the client disconnects %s",
    { retry: 2 },
    async (when) => {
      const { gateway, upstream } = await gatewayFixture((_request, response) => {
        if (when === "in the middle") response.writeHead(200).write("half");
      });
      const leave = new AbortController();
      const request = gateway
        .post("/audio/speech", tts, { signal: leave.signal })
        .then((response) => response.text())
        .catch(() => undefined);
      await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
      await sleep(30);
      leave.abort();
      const startedAt = performance.now();
      await upstream.requests[0]?.closed;
      expect(performance.now() - startedAt).toBeLessThan(100);
      await request;
    },
  );

  test("is not requested again if the client disconnects between two attempts, which is not logged as a failure", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      sendError(response, 429, { message: "slow" }, { "retry-after": "1" }),
    );
    const leave = new AbortController();
    const request = gateway
      .post("/embeddings", { model: "up/m", input: "x" }, { signal: leave.signal })
      .catch(() => undefined);
    await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
    await sleep(30);
    leave.abort();
    await request;
    await waitUntil("it is logged", () => gateway.lines.length === 1);
    expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
      client_disconnected: true,
      msg: "request",
    });
  });
});

describe("the demo", () => {
  const start = () => testGateway("[server]\nport = 0\ndemo = true\n");

  test("serves all of these routes", async () => {
    const gateway = await start();
    const json = async (path: string, body: object) =>
      gateway.post(path, { model: "demo/clean", ...body });
    expect(await (await json("/embeddings", { input: ["a", "b"] })).json()).toMatchObject({
      data: [{ index: 0 }, { index: 1 }],
    });
    expect(await (await json("/images/generations", { prompt: "a cat" })).json()).toHaveProperty(
      "data",
    );
    const speech = await json("/audio/speech", { input: "Hello" });
    expect(speech.headers.get("content-type")).toBe("audio/wav");
    expect(
      Buffer.from(await speech.arrayBuffer())
        .subarray(0, 4)
        .toString(),
    ).toBe("RIFF");
    for (const path of uploadPaths) {
      const form = new FormData();
      form.append("file", new Blob([randomBytes(1000)]), "a.wav");
      form.append("model", "demo/clean");
      form.append("prompt", "x");
      const response = await fetch(`${gateway.url}/v1${path}`, { method: "POST", body: form });
      expect([path, response.status]).toEqual([path, 200]);
      const expected = path.startsWith("/audio") ? "a.wav with 1000 bytes" : "b64_json";
      expect(await response.text()).toContain(expected);
    }
  });
});
