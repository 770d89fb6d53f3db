import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { hello, helloChat, pause, scene, standing, until } from "./scene.ts";
import { beginStream, chunk, event, refuse, says } from "./scripted-upstream.ts";

/*
 * Where a limit in milliseconds is checked, a machine that is busy with something else gets another try; what is wrong
 * is wrong every time.
 */

/** Milliseconds until a promise has settled. */
async function timeOf(promise: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await promise;
  return performance.now() - began;
}

test(
  "a client that leaves before the first token frees the upstream within 100 ms",
  { retry: 2 },
  async () => {
    const { gateway, upstream } = await scene(() => undefined);
    const leave = new AbortController();
    const asked = gateway
      .post("/responses", hello, { signal: leave.signal })
      .catch(() => undefined);
    await until("the upstream is asked", () => upstream.requests.length === 1);
    leave.abort();
    expect(await timeOf(upstream.requests[0]?.closed ?? pause(9999))).toBeLessThan(100);
    await asked;
  },
);

test(
  "a client that leaves in mid-stream frees the upstream within 100 ms",
  { retry: 2 },
  async () => {
    for (const [path, body] of [
      ["/responses", hello],
      ["/chat/completions", helloChat],
    ] as const) {
      const { gateway, upstream } = await scene((_request, response) => {
        beginStream(response);
        const timer = setInterval(() => response.write(event(chunk({ content: "word " }))), 5);
        response.on("close", () => clearInterval(timer));
      });
      const leave = new AbortController();
      const response = await gateway.post(path, body, { signal: leave.signal });
      await response.body?.getReader().read();
      leave.abort();
      expect(await timeOf(upstream.requests[0]?.closed ?? pause(9999))).toBeLessThan(100);
    }
  },
);

test(
  "a client that leaves while its whole reply is being made frees the upstream too",
  { retry: 2 },
  async () => {
    const { gateway, upstream } = await scene(() => undefined);
    const leave = new AbortController();
    const asked = gateway
      .post("/responses", { ...hello, stream: false }, { signal: leave.signal })
      .catch(() => undefined);
    await until("the upstream is asked", () => upstream.requests.length === 1);
    leave.abort();
    expect(await timeOf(upstream.requests[0]?.closed ?? pause(9999))).toBeLessThan(100);
    await asked;
  },
);

test("a client that leaves during a wait ends the tries", async () => {
  const { gateway, upstream } = await scene((_request, response) =>
    refuse(response, 429, { message: "slow" }, { "retry-after": "1" }),
  );
  const leave = new AbortController();
  const asked = gateway.post("/responses", hello, { signal: leave.signal }).catch(() => undefined);
  await until("the upstream is asked", () => upstream.requests.length === 1);
  await pause(50);
  leave.abort();
  await asked;
  await until("the request is over", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ left: true });
  await pause(1300);
  expect(upstream.requests).toHaveLength(1);
});

test("a slow reader slows the upstream, and nothing piles up in between", async () => {
  let sent = 0;
  let blocked = false;
  const padding = "x".repeat(16 * 1024);
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    const more = (): void => {
      while (sent < 256 * 1024 * 1024) {
        sent += padding.length;
        if (response.write(event(chunk({ content: "x", padding })))) continue;
        blocked = true;
        response.once("drain", more);
        return;
      }
      response.end(event("[DONE]"));
    };
    more();
  });
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  reply.pause();
  // Buffers of four sockets, of the kernel and of Node, and nothing that grows.
  expect(await standing(() => sent)).toBeLessThan(48 * 1024 * 1024);
  expect(blocked).toBe(true);
  client.destroy();
});

test("a client that reads slowly gets all of it, in order", async () => {
  const words = Array.from({ length: 4000 }, (_, at) => `word${at} ${"y".repeat(500)} `);
  const { gateway } = await scene((_request, response) => says(response, ...words));
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  let text = "";
  for await (const piece of reply) {
    text += String(piece);
    if (text.length % 7 === 0) await pause(1);
  }
  const said = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join("");
  expect(said).toBe(words.join(""));
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});
