import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { BadRequestError, NotFoundError, RateLimitError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestGateway } from "../test/test-gateway.ts";
import { createSampleAudio } from "@deltawire/demo";
import { demoFixture, parseLoggedReplies, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

describe.each(["overChat", "overResponses"] as const)("the openai SDK, %s", (upstream) => {
  const client = () =>
    new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

  test("lists the models and retrieves one", async () => {
    const names: string[] = [];
    for await (const model of client().models.list()) names.push(model.id);
    expect(names).toContain("clean");
    expect(names).toContain("stop-with-calls");
    expect(await client().models.retrieve("clean")).toMatchObject({ id: "clean", object: "model" });
  });

  test("creates embeddings", async () => {
    const { data } = await client().embeddings.create({
      model: "clean",
      input: ["red roses", "blue violets"],
    });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64]);
  });

  test("creates speech", async () => {
    const speech = await client().audio.speech.create({
      model: "clean",
      voice: "alloy",
      input: "Good morning",
    });
    const audio = Buffer.from(await speech.arrayBuffer());
    expect(audio.equals(createSampleAudio("Good morning"))).toBe(true);
  });

  test("uploads audio for a transcription and a translation", async () => {
    const audio = createSampleAudio("Good morning");
    const file = () => toFile(audio, "morning.wav");
    const expected = `The demo received morning.wav with ${audio.length} bytes.`;
    const transcription = await client().audio.transcriptions.create({
      model: "clean",
      file: await file(),
    });
    expect(transcription.text).toContain(expected);
    const translated = await client().audio.translations.create({
      model: "clean",
      file: await file(),
    });
    expect(translated.text).toContain(expected);
  });

  test("creates and edits images", async () => {
    const generated = await client().images.generate({ model: "clean", prompt: "roses", n: 2 });
    const [generatedImage] = generated.data ?? [];
    expect(generated.data).toHaveLength(2);
    const bytes = Buffer.from(generatedImage?.b64_json ?? "", "base64");
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
      errorClass: NotFoundError,
      request: { model: "nobody" },
      expected: {
        status: 404,
        message: expect.stringContaining("The model 'nobody' does not exist"),
      },
    },
    {
      errorClass: BadRequestError,
      request: { model: "clean", input: [{ type: "message", role: "king", content: "" }] },
      expected: { status: 400, param: "input[0].role" },
    },
    {
      errorClass: RateLimitError,
      request: { model: "rate-limited-forever" },
      expected: { status: 429, code: "rate_limit_exceeded" },
    },
  ])("throws a $errorClass.name", async ({ errorClass, request, expected }) => {
    const failure = await client()
      .responses.create({ input: "Hello", ...request } as { model: string; input: string })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(errorClass);
    expect(failure).toMatchObject(expected);
  });

  test("leaving a stream aborts the upstream request", async () => {
    const stream = await client().responses.create({
      model: "slow",
      input: "long 2000",
      stream: true,
    });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    const getLastReply = () => parseLoggedReplies(fixture.overChat).at(-1);
    for (let waitedMs = 0; waitedMs < 2000 && getLastReply()?.left !== true; waitedMs += 10)
      await sleep(10);
    expect(getLastReply()).toMatchObject({ model: "slow", client_disconnected: true });
  });
});

test("a wrong token throws an AuthenticationError", async () => {
  const gateway = await startTestGateway(`[server]\nport = 0\ntokens = ["0123456789abcdef"]\n`);
  onTestFinished(() => gateway.close());
  const send = (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }).responses.create({
      model: "demo/clean",
      input: "Good morning",
    });
  await expect(send("wrong")).rejects.toThrow(OpenAI.AuthenticationError);
  await expect(send("0123456789abcdef")).resolves.toMatchObject({ status: "completed" });
});
