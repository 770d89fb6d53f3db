import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf } from "./running-gateway.ts";
import { helloChat, pause, scene, until } from "./scene.ts";
import { beginStream, chunk, event, refuse } from "./scripted-upstream.ts";
import { answers, sendJson, streamed } from "./wire-replies.ts";

const three = { ...helloChat, n: 3, stream_options: { include_usage: true } };
const usage = { input: 10, output: 2 };

interface Chunk {
  id: string;
  choices: { index: number; delta: { content?: string }; finish_reason: string | null }[];
  usage?: JsonObject;
}

/** What each choice said, and how it ended. */
function choicesIn(events: JsonObject[]): { text: string; finish: string | null }[] {
  const said: { text: string; finish: string | null }[] = [];
  for (const { choices = [] } of events as unknown as Partial<Chunk>[])
    for (const { index, delta, finish_reason: finish } of choices) {
      const choice = (said[index] ??= { text: "", finish: null });
      choice.text += delta.content ?? "";
      choice.finish ??= finish;
    }
  return said;
}

const everyChoice = ["one", "two", "three"].map((text) => ({ text, finish: "stop" }));

describe("three choices of a Chat upstream", () => {
  const words = ["one", "two", "three"];
  const counted = { prompt_tokens: 10, completion_tokens: 6, total_tokens: 16 };

  test("go by in their stream, as it interleaves them", async () => {
    const { gateway, upstream } = await scene((_request, response) => {
      beginStream(response);
      const of = (index: number, delta: JsonObject, finish: string | null = null) =>
        event({ ...chunk({}), choices: [{ index, delta, finish_reason: finish }] });
      for (const at of [2, 0, 1]) response.write(of(at, { content: words[at] ?? "" }));
      for (const at of [1, 2, 0]) response.write(of(at, {}, "stop"));
      response.write(event({ ...chunk({}), choices: [], usage: counted }));
      response.end(event("[DONE]"));
    });
    const events = await eventsOf(await gateway.post("/chat/completions", three));
    expect(choicesIn(events)).toEqual(everyChoice);
    expect(events.filter((each) => each["usage"]).map((each) => each["usage"])).toEqual([counted]);
    expect(upstream.requests.map(({ body }) => body["n"])).toEqual([3]);
  });

  test("come whole in one completion", async () => {
    const choices = words.map((content, index) => ({
      index,
      finish_reason: "stop",
      message: { role: "assistant", content },
    }));
    const { gateway } = await scene((_request, response) =>
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

describe("three choices of a Responses upstream, which gives one,", () => {
  const inTurn = () => {
    let asked = 0;
    return () => ["one", "two", "three"][asked++] ?? "four";
  };

  test("are three requests and one stream: one id, summed usage, one [DONE]", async () => {
    const next = inTurn();
    const { gateway, upstream } = await scene(
      ({ body }, response) => answers("responses", response, body, { text: [next()], usage }),
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    const text = await response.clone().text();
    const events = await eventsOf(response);
    expect(choicesIn(events).toSorted(byText)).toEqual(everyChoice.toSorted(byText));
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

  test("come whole in one completion, in the order of their indices", async () => {
    const next = inTurn();
    const { gateway, upstream } = await scene(
      ({ body }, response) => answers("responses", response, body, { text: [next()], usage }),
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

  test("are refused together when one is refused before the first byte", async () => {
    let asked = 0;
    const { gateway, upstream } = await scene(
      async ({ body }, response) => {
        asked += 1;
        if (asked === 2) return refuse(response, 422, { message: "not this one" });
        await pause(50);
        answers("responses", response, body, { text: ["x"], usage });
      },
      { upstream: { speaks: "responses", retries: 0 } },
    );
    const response = await gateway.post("/chat/completions", three);
    expect(response.status).toBe(422);
    expect(await response.text()).toContain("not this one");
    await Promise.all(upstream.requests.map(({ closed }) => closed));
  });

  test("are tried again together when one fails before the first byte", async () => {
    let asked = 0;
    const { gateway, upstream } = await scene(
      async ({ body }, response) => {
        asked += 1;
        if (asked === 2) return refuse(response, 500, { message: "oops" });
        await pause(50);
        answers("responses", response, body, { text: ["x"], usage });
      },
      { upstream: { speaks: "responses" } },
    );
    const events = await eventsOf(await gateway.post("/chat/completions", three));
    expect(choicesIn(events).map(({ text }) => text)).toEqual(["x", "x", "x"]);
    expect(upstream.requests).toHaveLength(6);
  });

  test("end in an error, and no [DONE], when one breaks after the first byte; the others are let go", async () => {
    let asked = 0;
    const begun = Promise.withResolvers<void>();
    const { gateway, upstream } = await scene(
      async (_request, response) => {
        asked += 1;
        const mine = asked;
        beginStream(response);
        const pieces = streamed("responses", { text: ["a", "b"], usage });
        response.write(pieces.slice(0, 5).join(""));
        await begun.promise;
        if (mine === 2) response.destroy();
      },
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    expect(response.status).toBe(200);
    await until("all are asked", () => upstream.requests.length === 3);
    begun.resolve();
    const events = await eventsOf(response);
    expect(events.filter((each) => "error" in each)).toHaveLength(1);
    expect(events.at(-1)).toHaveProperty("error");
    expect(upstream.requests).toHaveLength(3);
    await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toHaveProperty("failure");
  });

  test("end in an error when one was refused after another had begun", async () => {
    let asked = 0;
    const begun = Promise.withResolvers<void>();
    const { gateway } = await scene(
      async (_request, response) => {
        asked += 1;
        if (asked === 2) {
          await begun.promise;
          return refuse(response, 503, { message: "full" });
        }
        beginStream(response);
        response.write(
          streamed("responses", { text: ["a", "b"], usage })
            .slice(0, 5)
            .join(""),
        );
      },
      { upstream: { speaks: "responses" } },
    );
    const response = await gateway.post("/chat/completions", three);
    begun.resolve();
    const events = await eventsOf(response);
    const errors = events.flatMap(({ error }) => (error === undefined ? [] : [error]));
    expect(errors).toMatchObject([
      { message: `one of the choices failed: upstream "up" answered 503: full` },
    ]);
    expect(events.some((each) => "done" in each)).toBe(false);
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toHaveProperty("failure");
  });

  test("are all let go when the client leaves", async () => {
    const { gateway, upstream } = await scene(
      (_request, response) => {
        beginStream(response);
        response.write(
          streamed("responses", { text: ["a"] })
            .slice(0, 5)
            .join(""),
        );
      },
      { upstream: { speaks: "responses" } },
    );
    const leave = new AbortController();
    const response = await gateway.post("/chat/completions", three, { signal: leave.signal });
    await response.body?.getReader().read();
    await until("all are asked", () => upstream.requests.length === 3);
    leave.abort();
    await Promise.all(upstream.requests.map(({ closed }) => closed));
    expect(upstream.requests).toHaveLength(3);
  });
});

test("n that is no number of choices is refused before anybody is asked", async () => {
  const { gateway, upstream } = await scene(() => undefined);
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
