import { setTimeout as after } from "node:timers/promises";
import OpenAI, { BadRequestError, NotFoundError, RateLimitError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runningGateway } from "../test/running-gateway.ts";
import { toneFor } from "@deltawire/demo";
import { demoStage, loggedReplies, type DemoStage } from "./demo-stage.ts";

let stage: DemoStage;

beforeAll(async () => {
  stage = await demoStage();
});

afterAll(() => stage.close());

describe.each(["overChat", "overResponses"] as const)("the openai SDK, %s", (upstream) => {
  const client = () =>
    new OpenAI({ baseURL: `${stage[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

  test("lists the models and finds one", async () => {
    const names: string[] = [];
    for await (const model of client().models.list()) names.push(model.id);
    expect(names).toContain("clean");
    expect(names).toContain("stop-with-calls");
    expect(await client().models.retrieve("clean")).toMatchObject({ id: "clean", object: "model" });
  });

  test("makes embeddings", async () => {
    const { data } = await client().embeddings.create({
      model: "clean",
      input: ["red roses", "blue violets"],
    });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64]);
  });

  test("speaks", async () => {
    const speech = await client().audio.speech.create({
      model: "clean",
      voice: "alloy",
      input: "Good morning",
    });
    const sound = Buffer.from(await speech.arrayBuffer());
    expect(sound.equals(toneFor("Good morning"))).toBe(true);
  });

  test("uploads sound for a transcript and a translation", async () => {
    const sound = toneFor("Good morning");
    const file = () => toFile(sound, "morning.wav");
    const expected = `The demo got morning.wav with ${sound.length} bytes.`;
    const heard = await client().audio.transcriptions.create({
      model: "clean",
      file: await file(),
    });
    expect(heard.text).toContain(expected);
    const translated = await client().audio.translations.create({
      model: "clean",
      file: await file(),
    });
    expect(translated.text).toContain(expected);
  });

  test("makes and edits pictures", async () => {
    const made = await client().images.generate({ model: "clean", prompt: "roses", n: 2 });
    const [picture] = made.data ?? [];
    expect(made.data).toHaveLength(2);
    const bytes = Buffer.from(picture?.b64_json ?? "", "base64");
    expect(bytes.subarray(1, 4).toString("latin1")).toBe("PNG");
    const edited = await client().images.edit({
      model: "clean",
      prompt: "violets",
      image: await toFile(bytes, "roses.png", { type: "image/png" }),
    });
    expect(edited.data).toHaveLength(1);
  });

  test.each([
    {
      kind: NotFoundError,
      request: { model: "nobody" },
      says: { status: 404, message: expect.stringContaining("The model 'nobody' does not exist") },
    },
    {
      kind: BadRequestError,
      request: { model: "clean", input: [{ type: "message", role: "king", content: "" }] },
      says: { status: 400, param: "input[0].role" },
    },
    {
      kind: RateLimitError,
      request: { model: "rate-limited-forever" },
      says: { status: 429, code: "rate_limit_exceeded" },
    },
  ])("throws a $kind.name", async ({ kind, request, says }) => {
    const failure = await client()
      .responses.create({ input: "Hello", ...request } as { model: string; input: string })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(kind);
    expect(failure).toMatchObject(says);
  });

  test("an abort reaches the upstream", async () => {
    const stream = await client().responses.create({
      model: "slow",
      input: "long 2000",
      stream: true,
    });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    const lastOf = () => loggedReplies(stage.overChat).at(-1);
    for (let waited = 0; waited < 2000 && lastOf()?.left !== true; waited += 10) await after(10);
    expect(lastOf()).toMatchObject({ model: "slow", left: true });
  });
});

test("a missing token is an AuthenticationError", async () => {
  const gateway = await runningGateway(`[server]\nport = 0\ntokens = ["0123456789abcdef"]\n`);
  onTestFinished(() => gateway.close());
  const ask = (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }).responses.create({
      model: "demo/clean",
      input: "Good morning",
    });
  await expect(ask("wrong")).rejects.toThrow(OpenAI.AuthenticationError);
  await expect(ask("0123456789abcdef")).resolves.toMatchObject({ status: "completed" });
});
