import { describe, expect, onTestFinished, test, vi } from "vitest";
import { findMessagesStreamFaults } from "../check/attack/judge-events.ts";
import { helloBodies, wirePaths, wires, type Wire } from "../check/attack/wires.ts";
import { gatewayFixture, sleep, testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import { readReply } from "./reply-contents.ts";
import { beginStream, sendError, type UpstreamScript } from "./scripted-upstream.ts";
import { readEvents, upstreamToml, type TestGateway } from "./test-gateway.ts";
import { formatStream, sendReply, type ScriptedReply } from "./wire-replies.ts";

/* What happens when an upstream fails or a client disconnects, for every client on every upstream. */

const reply: ScriptedReply = {
  reasoning: ["Hm, ", "weather."],
  text: ["Grüße, ", "世界 🌍"],
  calls: [{ id: "call_paris1", name: "look", arguments: ['{"city":', '"Paris"}'] }],
  usage: { input: 21, output: 13 },
};

const combinations = wires.flatMap((client) => wires.map((speaks) => ({ client, speaks })));

async function request(
  gateway: TestGateway,
  client: Wire,
  {
    model = "up/m",
    stream = true,
    signal,
  }: { model?: string; stream?: boolean; signal?: AbortSignal } = {},
): Promise<Response> {
  const path = wirePaths[client].slice("/v1".length);
  const body = { ...helloBodies[client], model, stream };
  return gateway.post(path, body, signal === undefined ? {} : { signal });
}

/** Sends the first part of a reply and then nothing. */
const sendStart = (speaks: Wire, response: Parameters<UpstreamScript>[1]): void => {
  beginStream(response);
  const texts = formatStream(speaks, { text: ["Hi", " there"] });
  const end = texts.findIndex((text) => text.includes("Hi")) + 1;
  response.write(texts.slice(0, end).join(""));
};

/** Returns the kind of the last event of a stream. */
async function readEnd(client: Wire, response: Response): Promise<string> {
  const events = await readEvents(response);
  const last = events.at(-1) ?? {};
  if (client === "chat") return last["error"] === undefined ? "complete" : "failed";
  if (client === "responses") return last["type"] === "response.failed" ? "failed" : "complete";
  expect(findMessagesStreamFaults(events)).toEqual([]);
  return last["type"] === "error" ? "failed" : "complete";
}

describe.each(combinations)("a $client client on a $speaks upstream", ({ client, speaks }) => {
  const upstream = { speaks };

  test("does not notice a failure before the first byte, which is retried", async () => {
    const fixture = await gatewayFixture(
      ({ body }, response) => {
        if (fixture.upstream.requests.length === 1) sendError(response, 500, { message: "oops" });
        else sendReply(speaks, response, body, reply);
      },
      { upstream },
    );
    const { text } = await readReply(client, await request(fixture.gateway, client));
    expect(text).toBe("Grüße, 世界 🌍");
    expect(fixture.upstream.requests).toHaveLength(2);
  });

  test("is served by the next upstream if the first is down", async () => {
    const down = await testUpstream((_request, response) =>
      sendError(response, 503, { message: "down" }),
    );
    const up = await testUpstream(({ body }, response) => sendReply(speaks, response, body, reply));
    const settings = { speaks, retries: 0 };
    const gateway = await testGateway(
      `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", down.url, settings)}${upstreamToml("b", up.url, settings)}`,
    );
    const response = await request(gateway, client, { model: "best" });
    expect(await readReply(client, response)).toMatchObject({ text: "Grüße, 世界 🌍" });
    expect(up.requests[0]?.body["model"]).toBe("y");
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({ upstream: "b", status: 200 });
  });

  test("receives a failure, not an end, if the connection breaks in mid-stream, and nothing is retried", async () => {
    const fixture = await gatewayFixture(
      async (_request, response) => {
        sendStart(speaks, response);
        await sleep(30);
        response.destroy();
      },
      { upstream },
    );
    expect(await readEnd(client, await request(fixture.gateway, client))).toBe("failed");
    expect(fixture.upstream.requests).toHaveLength(1);
  });

  test("receives a failure if the upstream falls silent for longer than its idle timeout", async () => {
    const { gateway } = await gatewayFixture((_request, response) => sendStart(speaks, response), {
      upstream: { ...upstream, idle_timeout_seconds: 1 },
    });
    expect(await readEnd(client, await request(gateway, client))).toBe("failed");
  });

  test.each([true, false])(
    "frees the upstream when it disconnects; streamed: %s",
    async (stream) => {
      const fixture = await gatewayFixture(
        (_request, response) => (stream ? sendStart(speaks, response) : undefined),
        { upstream },
      );
      const controller = new AbortController();
      const pendingReply = request(fixture.gateway, client, { stream, signal: controller.signal });
      await waitUntil("the upstream has the request", () => fixture.upstream.requests.length === 1);
      if (stream) await (await pendingReply).body?.getReader().read();
      controller.abort();
      await Promise.allSettled([pendingReply]);
      await fixture.upstream.requests[0]?.closed;
      await waitUntil("the request is logged", () => fixture.gateway.lines.length === 1);
      expect(JSON.parse(fixture.gateway.lines[0] ?? "")).toMatchObject({
        client_disconnected: true,
      });
    },
  );

  test("receives an error with Retry-After while the upstream is paused after five failures", async () => {
    let works = false;
    const { gateway } = await gatewayFixture(
      ({ body }, response) => {
        if (works) sendReply(speaks, response, body, reply);
        else sendError(response, 500, { message: "dead" });
      },
      { upstream: { ...upstream, retries: 0 } },
    );
    for (let round = 0; round < 5; round += 1)
      expect((await request(gateway, client)).status).toBe(502);
    const rejected = await request(gateway, client);
    expect(rejected.status).toBe(503);
    expect(Number(rejected.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await rejected.json()).toMatchObject({
      error:
        client === "messages" ? { type: "overloaded_error" } : { code: "upstream_circuit_open" },
    });
    works = true;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5100 });
    onTestFinished(() => void vi.useRealTimers());
    expect((await request(gateway, client)).status).toBe(200);
  });

  test("receives the same reply wherever the network cuts the bytes of the upstream", async () => {
    const bytes = Buffer.from(formatStream(speaks, reply).join(""));
    let size = bytes.length;
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        beginStream(response);
        for (let start = 0; start < bytes.length; start += size) {
          response.write(bytes.subarray(start, start + size));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      },
      { upstream },
    );
    const expected = normalizeIds(await (await request(gateway, client)).text());
    for (size of [7, 64, 333])
      expect(normalizeIds(await (await request(gateway, client)).text())).toBe(expected);
  });

  test("is logged with its API, its model and its tokens", async () => {
    const { gateway } = await gatewayFixture(
      ({ body }, response) => sendReply(speaks, response, body, reply),
      { upstream },
    );
    await readReply(client, await request(gateway, client));
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      model: "up/m",
      upstream: "up",
      status: 200,
      tokens_in: 21,
      tokens_out: 13,
    });
  });
});

/** Replaces ids and times, which differ from reply to reply, and sealed reasoning. */
function normalizeIds(text: string): string {
  return text
    .replaceAll(/"(?:signature|encrypted_content|data)":"[^"]+"/g, '"sealed"')
    .replaceAll(/"(id|item_id|response_id)":"(\w+?)_[^"]*"/g, '"$1":"$2"')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":0');
}
