import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { eventsOf } from "./running-gateway.ts";
import { hello, helloChat, pause, scene, until } from "./scene.ts";
import { beginStream, chunk, event, says } from "./scripted-upstream.ts";
import { streamed } from "./wire-replies.ts";

/** Fifteen beats are the time after which a quiet stream says that it lives; a beat is a second outside of tests. */
const beatMs = 3;
const quietMs = 15 * beatMs;

/** An upstream that sends `before`, is quiet until `goOn` is called, and then sends `after`. */
function quietUpstream(before: string, after: string) {
  const { promise, resolve: goOn } = Promise.withResolvers<void>();
  const handle = async (_request: unknown, response: ServerResponse): Promise<void> => {
    beginStream(response);
    response.write(before);
    await promise;
    response.end(after);
  };
  return { handle, goOn };
}

/** Reads a reply to its end, and calls `goOn` once `enough` is true of what has come. */
async function readReply(
  reply: Response,
  enough: (text: string) => boolean,
  goOn: () => void,
): Promise<string> {
  const utf8 = new TextDecoder();
  let text = "";
  for await (const bytes of reply.body ?? []) {
    text += utf8.decode(bytes, { stream: true });
    if (enough(text)) goOn();
  }
  return text;
}

const count = (text: string, part: RegExp): number => text.match(part)?.length ?? 0;

describe("while an upstream is quiet in mid-stream", () => {
  test.each(["chat", "responses"] as const)(
    "a Responses client on a %s upstream gets response.in_progress, in dense sequence",
    async (speaks) => {
      const pieces = streamed(speaks, { text: ["Hi", " there"], usage: { input: 1, output: 1 } });
      const { handle, goOn } = quietUpstream(
        pieces.slice(0, -3).join(""),
        pieces.slice(-3).join(""),
      );
      const { gateway } = await scene(handle, { beatMs, upstream: { speaks } });
      const text = await readReply(
        await gateway.post("/responses", hello),
        (soFar) => count(soFar, /^event: response\.in_progress$/gm) > 2,
        goOn,
      );
      const events = await eventsOf(new Response(text));
      const types = events.map(({ type }) => type);
      expect(types.lastIndexOf("response.in_progress")).toBeGreaterThan(
        types.indexOf("response.output_text.delta"),
      );
      expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
      expect(types.at(-1)).toBe("response.completed");
      for (const each of events.filter(({ type }) => type === "response.in_progress"))
        expect(each).toMatchObject({ response: { object: "response", status: "in_progress" } });
    },
  );

  test.each(["chat", "responses"] as const)(
    "a Chat client on a %s upstream gets comments, between events",
    async (speaks) => {
      const pieces = streamed(speaks, { text: ["Hi", " there"] });
      const { handle, goOn } = quietUpstream(
        pieces.slice(0, -3).join(""),
        pieces.slice(-3).join(""),
      );
      const { gateway } = await scene(handle, { beatMs, upstream: { speaks } });
      const reply = await gateway.post("/chat/completions", helloChat);
      const text = await readReply(reply, (soFar) => count(soFar, /^: /gm) > 0, goOn);
      for (const line of text.split("\n").filter((each) => each !== ""))
        expect(line).toMatch(/^(?:: |data: )/);
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    },
  );

  test("half an event of the upstream is not torn apart by it", async () => {
    const cut = event(chunk({ content: " there" }));
    const { handle, goOn } = quietUpstream(
      event(chunk({ content: "Hi" })) + cut.slice(0, 40),
      cut.slice(40) + event(chunk({}, "stop")) + event("[DONE]"),
    );
    const { gateway } = await scene(handle, { beatMs });
    const reply = await gateway.post("/chat/completions", helloChat);
    const text = await readReply(reply, (soFar) => count(soFar, /^:/gm) > 0, goOn);
    expect(text).toContain('"content":" there"');
    for (const line of text.split("\n").filter((each) => each.startsWith("data: {")))
      expect(() => JSON.parse(line.slice(6)) as unknown).not.toThrow();
  });

  test("nothing is said where the upstream says enough", async () => {
    const { gateway } = await scene(
      async (_request, response) => {
        beginStream(response);
        for (let at = 0; at < 12; at += 1) {
          response.write(event(chunk({ content: "word " })));
          await pause(10);
        }
        says(response, "end");
      },
      // Fifteen beats are 3 s, and words come every 10 ms, also on a busy machine within a second.
      { beatMs: 200 },
    );
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.filter(({ type }) => type === "response.in_progress")).toHaveLength(1);
  });
});

test("a client that wants the whole gets one JSON object, however quiet the upstream is", async () => {
  const { gateway } = await scene(
    async (_request, response) => {
      await pause(3 * quietMs);
      says(response, "late");
    },
    { beatMs },
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

test("a client that reads nothing for 300 beats is let go, and so is the upstream", async () => {
  const { gateway, upstream } = await scene(
    (_request, response) => {
      beginStream(response);
      const padding = "x".repeat(64 * 1024);
      const more = (): void => {
        while (!response.destroyed)
          if (!response.write(event(chunk({ content: "x", padding }))))
            return void response.once("drain", more);
      };
      more();
    },
    { beatMs: 1 },
  );
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  reply.on("error", () => undefined);
  reply.pause();
  const began = performance.now();
  await upstream.requests[0]?.closed;
  expect(performance.now() - began).toBeGreaterThan(250);
  await until("it is logged", () => gateway.lines.length === 1);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ left: true });
  // What it has not read by then ends without the end of a response.
  reply.resume();
  await new Promise((resolve) => reply.on("close", resolve));
  expect(reply.complete).toBe(false);
});

test("a client that reads slowly, but reads, is kept", async () => {
  const padding = "y".repeat(16 * 1024);
  const { gateway } = await scene(
    (_request, response) => {
      beginStream(response);
      for (let nth = 0; nth < 400; nth += 1)
        response.write(event(chunk({ content: "y", padding })));
      says(response, "y");
    },
    { beatMs: 2 },
  );
  const client = httpRequest(`${gateway.url}/v1/chat/completions`, { method: "POST" });
  client.end(JSON.stringify(helloChat));
  const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
  let size = 0;
  let text = "";
  for await (const piece of reply) {
    size += (piece as Buffer).length;
    text = (text + String(piece)).slice(-100);
    if (size % 3 === 0) await pause(5);
  }
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});

test("comments of an upstream are no signs of life: the stream begins and stays alive without its events", async () => {
  const enough = new AbortController();
  const { gateway } = await scene(
    async (_request, response) => {
      beginStream(response);
      while (!enough.signal.aborted && !response.destroyed) {
        response.write(": PROCESSING\n\n");
        await pause(beatMs * 2);
      }
      says(response, "late");
    },
    { beatMs },
  );
  const text = await readReply(
    await gateway.post("/responses", hello),
    (soFar) => count(soFar, /^event: response\.in_progress$/gm) > 2,
    () => enough.abort(),
  );
  const types = (await eventsOf(new Response(text))).map(({ type }) => type);
  expect(types.at(-1)).toBe("response.completed");
});
