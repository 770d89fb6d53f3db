import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import {
  hello,
  helloChat,
  sleep,
  gatewayFixture,
  waitUntilStable,
  waitUntil,
} from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, sendError, streamText } from "./scripted-upstream.ts";

/*
 * Tests that check a limit in milliseconds are retried, because the machine may be busy. A real error fails every time.
 */

/** Returns the milliseconds until a promise has settled. */
async function measureMs(promise: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await promise;
  return performance.now() - startedAt;
}

test(
  "a client that disconnects before the first token frees the upstream within 100 ms",
  { retry: 2 },
  async () => {
    const { gateway, upstream } = await gatewayFixture(() => undefined);
    const controller = new AbortController();
    const pendingReply = gateway
      .post("/responses", hello, { signal: controller.signal })
      .catch(() => undefined);
    await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
    controller.abort();
    expect(await measureMs(upstream.requests[0]?.closed ?? sleep(9999))).toBeLessThan(100);
    await pendingReply;
  },
);

test(
  "a client that disconnects in mid-stream frees the upstream within 100 ms",
  { retry: 2 },
  async () => {
    for (const [path, body] of [
      ["/responses", hello],
      ["/chat/completions", helloChat],
    ] as const) {
      const { gateway, upstream } = await gatewayFixture((_request, response) => {
        beginStream(response);
        const timer = setInterval(
          () => response.write(formatEvent(chatChunk({ content: "word " }))),
          5,
        );
        response.on("close", () => clearInterval(timer));
      });
      const controller = new AbortController();
      const response = await gateway.post(path, body, { signal: controller.signal });
      await response.body?.getReader().read();
      controller.abort();
      expect(await measureMs(upstream.requests[0]?.closed ?? sleep(9999))).toBeLessThan(100);
    }
  },
);

test(
  "a client that disconnects during a non-streaming reply frees the upstream too",
  { retry: 2 },
  async () => {
    const { gateway, upstream } = await gatewayFixture(() => undefined);
    const controller = new AbortController();
    const pendingReply = gateway
      .post("/responses", { ...hello, stream: false }, { signal: controller.signal })
      .catch(() => undefined);
    await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
    controller.abort();
    expect(await measureMs(upstream.requests[0]?.closed ?? sleep(9999))).toBeLessThan(100);
    await pendingReply;
  },
);

test("a client that disconnects during a wait ends the retries", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) =>
    sendError(response, 429, { message: "slow" }, { "retry-after": "1" }),
  );
  const controller = new AbortController();
  const pendingReply = gateway
    .post("/responses", hello, { signal: controller.signal })
    .catch(() => undefined);
  await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
  await sleep(50);
  controller.abort();
  await pendingReply;
  await waitUntil("the request has ended", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ client_disconnected: true });
  await sleep(1300);
  expect(upstream.requests).toHaveLength(1);
});

test("a slow client slows down the upstream, and nothing is buffered in between", async () => {
  let sent = 0;
  let blocked = false;
  const padding = "x".repeat(16 * 1024);
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    const writeMore = (): void => {
      while (sent < 256 * 1024 * 1024) {
        sent += padding.length;
        if (response.write(formatEvent(chatChunk({ content: "x", padding })))) continue;
        blocked = true;
        response.once("drain", writeMore);
        return;
      }
      response.end(formatEvent("[DONE]"));
    };
    writeMore();
  });
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  reply.pause();
  // The buffers of four sockets, of the kernel and of Node, which do not grow.
  expect(await waitUntilStable(() => sent)).toBeLessThan(48 * 1024 * 1024);
  expect(blocked).toBe(true);
  client.destroy();
});

test("a client that reads slowly gets everything, in order", async () => {
  const chunks = Array.from({ length: 4000 }, (_, index) => `word${index} ${"y".repeat(500)} `);
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, ...chunks));
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  let text = "";
  for await (const bytes of reply) {
    text += String(bytes);
    if (text.length % 7 === 0) await sleep(1);
  }
  const receivedText = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join("");
  expect(receivedText).toBe(chunks.join(""));
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});
