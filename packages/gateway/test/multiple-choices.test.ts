import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents } from "./test-gateway.ts";
import { helloChat, sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, sendError } from "./scripted-upstream.ts";
import { sendReply, sendJson, formatStream } from "./wire-replies.ts";

const three = { ...helloChat, n: 3, stream_options: { include_usage: true } };
const usage = { input: 10, output: 2 };

interface Chunk {
  id: string;
  choices: { index: number; delta: { content?: string }; finish_reason: string | null }[];
  usage?: JsonObject;
}

/** Returns the text and the finish reason of each choice. */
function collectChoices(events: JsonObject[]): { text: string; finish: string | null }[] {
  const results: { text: string; finish: string | null }[] = [];
  for (const { choices = [] } of events as unknown as Partial<Chunk>[])
    for (const { index, delta, finish_reason: finish } of choices) {
      const choice = (results[index] ??= { text: "", finish: null });
      choice.text += delta.content ?? "";
      choice.finish ??= finish;
    }
  return results;
}

const everyChoice = ["one", "two", "three"].map((text) => ({ text, finish: "stop" }));

describe("three choices of a Chat upstream", () => {
  const words = ["one", "two", "three"];
  const counted = { prompt_tokens: 10, completion_tokens: 6, total_tokens: 16 };

  test("are forwarded in one stream, interleaved as sent", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      beginStream(response);
      const of = (index: number, delta: JsonObject, finish: string | null = null) =>
        formatEvent({ ...chatChunk({}), choices: [{ index, delta, finish_reason: finish }] });
      for (const position of [2, 0, 1])
        response.write(of(position, { content: words[position] ?? "" }));
      for (const at of [1, 2, 0]) response.write(of(at, {}, "stop"));
      response.write(formatEvent({ ...chatChunk({}), choices: [], usage: counted }));
      response.end(formatEvent("[DONE]"));
    });
    const events = await readEvents(await gateway.post("/chat/completions", three));
    expect(collectChoices(events)).toEqual(everyChoice);
    expect(events.filter((each) => each["usage"]).map((each) => each["usage"])).toEqual([counted]);
    expect(upstream.requests.map(({ body }) => body["n"])).toEqual([3]);
  });

  test("are collected in one completion", async () => {
    const choices = words.map((content, index) => ({
      index,
      finish_reason: "stop",
      message: { role: "assistant", content },
    }));
    const { gateway } = await gatewayFixture((_request, response) =>
      sendJson(response, {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices,
        usage: counted,
      }),
    );
    const response = await gateway.post("/chat/completions", { ...three, stream: false });
    expect(await response.json()).toMatchObject({ choices, usage: counted });
  });
});

describe("three choices of a Responses upstream, which supports one,", () => {
  const inTurn = () => {
    let requestCount = 0;
    return () => ["one", "two", "three"][requestCount++] ?? "four";
  };

  test("are three requests and one stream: one id, summed usage, one [DONE]", async () => {
    const next = inTurn();
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) => sendReply("responses", response, body, { text: [next()], usage }),
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    const text = await response.clone().text();
    const events = await readEvents(response);
    expect(collectChoices(events).toSorted(byText)).toEqual(everyChoice.toSorted(byText));
    expect(upstream.requests).toHaveLength(3);
    expect(upstream.requests.some(({ body }) => "n" in body)).toBe(false);
    expect(new Set(events.flatMap((each) => (each["id"] as string | undefined) ?? [])).size).toBe(
      1,
    );
    expect(events.flatMap((each) => (each["usage"] as JsonObject | null) ?? [])).toEqual([
      expect.objectContaining({ prompt_tokens: 30, completion_tokens: 6, total_tokens: 36 }),
    ]);
    expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("are collected in one completion, in the order of their indexes", async () => {
    const next = inTurn();
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) => sendReply("responses", response, body, { text: [next()], usage }),
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", { ...three, stream: false });
    const { choices, usage: summed } = (await response.json()) as {
      choices: { index: number; message: { content: string } }[];
      usage: JsonObject;
    };
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content))).toEqual(
      new Set(["one", "two", "three"]),
    );
    expect(summed).toMatchObject({ prompt_tokens: 30, completion_tokens: 6, total_tokens: 36 });
    expect(upstream.requests).toHaveLength(3);
  });

  test("fail together if one is rejected before the first byte", async () => {
    let requestCount = 0;
    const { gateway, upstream } = await gatewayFixture(
      async ({ body }, response) => {
        requestCount += 1;
        if (requestCount === 2) return sendError(response, 422, { message: "not this one" });
        await sleep(50);
        sendReply("responses", response, body, { text: ["x"], usage });
      },
      { upstream: { speaks: "responses", retries: 0 } },
    );
    const response = await gateway.post("/chat/completions", three);
    expect(response.status).toBe(422);
    expect(await response.text()).toContain("not this one");
    await Promise.all(upstream.requests.map(({ closed }) => closed));
  });

  test("are retried together if one fails before the first byte", async () => {
    let requestCount = 0;
    const { gateway, upstream } = await gatewayFixture(
      async ({ body }, response) => {
        requestCount += 1;
        if (requestCount === 2) return sendError(response, 500, { message: "oops" });
        await sleep(50);
        sendReply("responses", response, body, { text: ["x"], usage });
      },
      { upstream: { speaks: "responses" } },
    );
    const events = await readEvents(await gateway.post("/chat/completions", three));
    expect(collectChoices(events).map(({ text }) => text)).toEqual(["x", "x", "x"]);
    expect(upstream.requests).toHaveLength(6);
  });

  test("end with an error, without [DONE], if one breaks after the first byte; the others are aborted", async () => {
    let requestCount = 0;
    const begun = Promise.withResolvers<void>();
    const { gateway, upstream } = await gatewayFixture(
      async (_request, response) => {
        requestCount += 1;
        const index = requestCount;
        beginStream(response);
        const pieces = formatStream("responses", { text: ["a", "b"], usage });
        response.write(pieces.slice(0, 5).join(""));
        await begun.promise;
        if (index === 2) response.destroy();
      },
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    expect(response.status).toBe(200);
    await waitUntil("all requests are sent", () => upstream.requests.length === 3);
    begun.resolve();
    const events = await readEvents(response);
    expect(events.filter((each) => "error" in each)).toHaveLength(1);
    expect(events.at(-1)).toHaveProperty("error");
    expect(upstream.requests).toHaveLength(3);
    await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toHaveProperty("failure");
  });

  test("end with an error if one is rejected after another has started", async () => {
    let requestCount = 0;
    const begun = Promise.withResolvers<void>();
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        requestCount += 1;
        if (requestCount === 2) {
          await begun.promise;
          return sendError(response, 503, { message: "full" });
        }
        beginStream(response);
        response.write(
          formatStream("responses", { text: ["a", "b"], usage })
            .slice(0, 5)
            .join(""),
        );
      },
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    begun.resolve();
    const events = await readEvents(response);
    const errors = events.flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect(errors).toMatchObject([
      { message: `one of the choices failed: upstream "up" answered 503: full` },
    ]);
    expect(events.some((each) => "done" in each)).toBe(false);
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toHaveProperty("failure");
  });

  test("are all aborted if the client disconnects", async () => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.write(
          formatStream("responses", { text: ["a"] })
            .slice(0, 5)
            .join(""),
        );
      },
      { upstream: { speaks: "responses" } },
    );
    const leave = new AbortController();
    const response = await gateway.post("/chat/completions", three, { signal: leave.signal });
    await response.body?.getReader().read();
    await waitUntil("all requests are sent", () => upstream.requests.length === 3);
    leave.abort();
    await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(upstream.requests).toHaveLength(3);
  });
});

test("an invalid n is rejected before any request is sent", async () => {
  const { gateway, upstream } = await gatewayFixture(() => undefined);
  for (const n of [0, -1, 1.5, 17, 1e9]) {
    const response = await gateway.post("/chat/completions", { ...helloChat, n });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "n" } });
  }
  expect(upstream.requests).toHaveLength(0);
});

function byText(a: { text: string }, b: { text: string }): number {
  return a.text.localeCompare(b.text);
}
