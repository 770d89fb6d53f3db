import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { findMessagesStreamFaults } from "../check/attack/judge-events.ts";
import { helloBodies } from "../check/attack/wires.ts";
import { readEvents } from "./test-gateway.ts";
import { hello, helloChat, sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, streamText } from "./scripted-upstream.ts";
import { formatStream } from "./wire-replies.ts";

/** A silent stream sends a keep-alive after fifteen ticks. Outside of tests a tick is a second. */
const tickMs = 3;
const quietMs = 15 * tickMs;

/** An upstream that sends `before`, is silent until `resume` is called, and then sends `after`. */
function quietUpstream(before: string, after: string) {
  const { promise, resolve: resume } = Promise.withResolvers<void>();
  const handle = async (_request: unknown, response: ServerResponse): Promise<void> => {
    beginStream(response);
    response.write(before);
    await promise;
    response.end(after);
  };
  return { handle, resume };
}

/** Reads a reply to its end, and calls `resume` once `isEnough` returns true for the text so far. */
async function readReply(
  reply: Response,
  isEnough: (text: string) => boolean,
  resume: () => void,
): Promise<string> {
  const utf8 = new TextDecoder();
  let text = "";
  for await (const bytes of reply.body ?? []) {
    text += utf8.decode(bytes, { stream: true });
    if (isEnough(text)) resume();
  }
  return text;
}

const count = (text: string, part: RegExp): number => text.match(part)?.length ?? 0;

describe("while an upstream is silent in mid-stream", () => {
  test.each(["chat", "responses", "messages"] as const)(
    "a Responses client on a %s upstream gets response.in_progress, with consecutive sequence numbers",
    async (speaks) => {
      const chunks = formatStream(speaks, {
        text: ["Hi", " there"],
        usage: { input: 1, output: 1 },
      });
      const { handle, resume } = quietUpstream(
        chunks.slice(0, -3).join(""),
        chunks.slice(-3).join(""),
      );
      const { gateway } = await gatewayFixture(handle, { tickMs, upstream: { speaks } });
      const text = await readReply(
        await gateway.post("/responses", hello),
        (soFar) => count(soFar, /^event: response\.in_progress$/gm) > 2,
        resume,
      );
      const events = await readEvents(new Response(text));
      const types = events.map(({ type }) => type);
      expect(types.lastIndexOf("response.in_progress")).toBeGreaterThan(
        types.indexOf("response.output_text.delta"),
      );
      expect(events.map((each) => each["sequence_number"])).toEqual(
        events.map((_, index) => index),
      );
      expect(types.at(-1)).toBe("response.completed");
      for (const each of events.filter(({ type }) => type === "response.in_progress"))
        expect(each).toMatchObject({ response: { object: "response", status: "in_progress" } });
    },
  );

  test.each(["chat", "responses", "messages"] as const)(
    "a Chat client on a %s upstream gets comments, between events",
    async (speaks) => {
      const chunks = formatStream(speaks, { text: ["Hi", " there"] });
      const { handle, resume } = quietUpstream(
        chunks.slice(0, -3).join(""),
        chunks.slice(-3).join(""),
      );
      const { gateway } = await gatewayFixture(handle, { tickMs, upstream: { speaks } });
      const reply = await gateway.post("/chat/completions", helloChat);
      const text = await readReply(reply, (soFar) => count(soFar, /^: /gm) > 0, resume);
      for (const line of text.split("\n").filter((each) => each !== ""))
        expect(line).toMatch(/^(?:: |data: )/);
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    },
  );

  test.each(["chat", "responses", "messages"] as const)(
    "a Messages client on a %s upstream gets pings, between events",
    async (speaks) => {
      const chunks = formatStream(speaks, {
        text: ["Hi", " there"],
        usage: { input: 1, output: 1 },
      });
      const { handle, resume } = quietUpstream(
        chunks.slice(0, -3).join(""),
        chunks.slice(-3).join(""),
      );
      const { gateway } = await gatewayFixture(handle, { tickMs, upstream: { speaks } });
      const text = await readReply(
        await gateway.post("/messages", { ...helloBodies.messages, model: "up/m", stream: true }),
        // The first one is sent at the start.
        (soFar) => count(soFar, /^event: ping$/gm) > 2,
        resume,
      );
      const events = await readEvents(new Response(text));
      expect(findMessagesStreamFaults(events)).toEqual([]);
      const types = events.map(({ type }) => type);
      expect(types.lastIndexOf("ping")).toBeGreaterThan(types.indexOf("content_block_delta"));
      expect(types.at(-1)).toBe("message_stop");
    },
  );

  test("no keep-alive is sent within an incomplete event of the upstream", async () => {
    const cut = formatEvent(chatChunk({ content: " there" }));
    const { handle, resume } = quietUpstream(
      formatEvent(chatChunk({ content: "Hi" })) + cut.slice(0, 40),
      cut.slice(40) + formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"),
    );
    const { gateway } = await gatewayFixture(handle, { tickMs });
    const reply = await gateway.post("/chat/completions", helloChat);
    const text = await readReply(reply, (soFar) => count(soFar, /^:/gm) > 0, resume);
    expect(text).toContain('"content":" there"');
    for (const line of text.split("\n").filter((each) => each.startsWith("data: {")))
      expect(() => JSON.parse(line.slice(6)) as unknown).not.toThrow();
  });

  test("nothing is sent if the upstream sends enough", async () => {
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        beginStream(response);
        for (let index = 0; index < 12; index += 1) {
          response.write(formatEvent(chatChunk({ content: "word " })));
          await sleep(10);
        }
        streamText(response, "end");
      },
      // Fifteen ticks are 3 s, and text comes every 10 ms, or within a second on a busy machine.
      { tickMs: 200 },
    );
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.filter(({ type }) => type === "response.in_progress")).toHaveLength(1);
  });
});

test("a non-streaming client gets one JSON object, however long the upstream is silent", async () => {
  const { gateway } = await gatewayFixture(
    async (_request, response) => {
      await sleep(3 * quietMs);
      streamText(response, "late");
    },
    { tickMs },
  );
  for (const [path, body] of [
    ["/responses", hello],
    ["/chat/completions", helloChat],
  ] as const) {
    const text = await (await gateway.post(path, { ...body, stream: false })).text();
    expect(text.startsWith("{")).toBe(true);
    expect(text).toContain("late");
  }
});

test("a client that reads nothing for 300 ticks is disconnected, and so is the upstream", async () => {
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => {
      beginStream(response);
      const padding = "x".repeat(64 * 1024);
      const writeMore = (): void => {
        while (!response.destroyed)
          if (!response.write(formatEvent(chatChunk({ content: "x", padding }))))
            return void response.once("drain", writeMore);
      };
      writeMore();
    },
    { tickMs: 1 },
  );
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  reply.on("error", () => undefined);
  reply.pause();
  const startedAt = performance.now();
  await upstream.requests[0]?.closed;
  expect(performance.now() - startedAt).toBeGreaterThan(250);
  await waitUntil("it is logged", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ client_disconnected: true });
  // The rest, which the client reads afterwards, does not contain the end of the response.
  reply.resume();
  await new Promise((resolve) => reply.on("close", resolve));
  expect(reply.complete).toBe(false);
});

test("a client that reads slowly stays connected", async () => {
  const padding = "y".repeat(16 * 1024);
  const { gateway } = await gatewayFixture(
    (_request, response) => {
      beginStream(response);
      for (let nth = 0; nth < 400; nth += 1)
        response.write(formatEvent(chatChunk({ content: "y", padding })));
      streamText(response, "y");
    },
    { tickMs: 2 },
  );
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  let size = 0;
  let text = "";
  for await (const chunk of reply) {
    size += (chunk as Buffer).length;
    text = (text + String(chunk)).slice(-100);
    if (size % 3 === 0) await sleep(5);
  }
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});

test("an upstream's comments do not count as events: the stream starts and is kept alive without them", async () => {
  const isEnough = new AbortController();
  const { gateway } = await gatewayFixture(
    async (_request, response) => {
      beginStream(response);
      while (!isEnough.signal.aborted && !response.destroyed) {
        response.write(": PROCESSING\n\n");
        await sleep(tickMs * 2);
      }
      streamText(response, "late");
    },
    { tickMs },
  );
  const text = await readReply(
    await gateway.post("/responses", hello),
    (soFar) => count(soFar, /^event: response\.in_progress$/gm) > 2,
    () => isEnough.abort(),
  );
  const types = (await readEvents(new Response(text))).map(({ type }) => type);
  expect(types.at(-1)).toBe("response.completed");
});
