import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  generateText,
  isStepCount,
  Output,
  streamText,
  tool,
  type LanguageModel,
} from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSampleImage } from "@deltawire/demo";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const providers = {
  "responses of @ai-sdk/openai": (baseURL: string, model: string): LanguageModel =>
    createOpenAI({ baseURL, apiKey: "local" }).responses(model),
  "chat of @ai-sdk/openai": (baseURL: string, model: string): LanguageModel =>
    createOpenAI({ baseURL, apiKey: "local" }).chat(model),
  "@ai-sdk/openai-compatible": (baseURL: string, model: string): LanguageModel =>
    createOpenAICompatible({
      name: "deltawire",
      baseURL,
      apiKey: "local",
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(model),
};

type Provider = keyof typeof providers;

/** OpenAI's own Chat API has no reasoning, so its provider ignores it. */
const showsReasoning = (provider: Provider) => provider !== "chat of @ai-sdk/openai";

const question = "What is the weather in Oslo and Rome?";
const city = z.object({ name: z.string(), people: z.number().int() });

function weatherTool(calls: string[]) {
  return tool({
    description: "The weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city: name }) => {
      calls.push(name);
      return `${name} is sunny.`;
    },
  });
}

const all = (Object.keys(providers) as Provider[]).flatMap((provider) =>
  (["overChat", "overResponses"] as const).map((upstream) => ({ provider, upstream })),
);

describe.each(all)("the ai SDK with $provider, $upstream", ({ provider, upstream }) => {
  const model = (name: string) => providers[provider](`${fixture[upstream].url}/v1`, name);

  test("generateText returns text, reasoning and usage", async () => {
    const result = await generateText({ model: model("clean"), prompt: "Good morning" });
    expect(result.text).toContain("> Good morning");
    expect(result.finishReason).toBe("stop");
    expect(result.usage.outputTokens).toBeGreaterThan(10);
    expect(result.warnings ?? []).toEqual([]);
    const thought = showsReasoning(provider) ? "No tool is needed here." : "";
    expect(result.reasoningText ?? "").toContain(thought);
  });

  test("streamText returns the parts in order", async () => {
    const result = streamText({ model: model("think-tags"), prompt: "Good morning" });
    const types: string[] = [];
    let text = "";
    for await (const part of result.fullStream) {
      if (types.at(-1) !== part.type) types.push(part.type);
      if (part.type === "text-delta") text += part.text;
    }
    const reasoning = ["reasoning-start", "reasoning-delta", "reasoning-end"];
    expect(types.filter((type) => /^(?:text|reasoning)-/.test(type))).toEqual([
      ...(showsReasoning(provider) ? reasoning : []),
      "text-start",
      "text-delta",
      "text-end",
    ]);
    expect(text).toContain("> Good morning");
    expect(text).not.toContain("<think>");
    expect((await result.usage).totalTokens).toBeGreaterThan(10);
  });

  test.each(["clean", "stop-with-calls", "needs-reasoning"])(
    "tools run in several steps, on an upstream like %s",
    async (name) => {
      const calls: string[] = [];
      const result = await generateText({
        model: model(name),
        prompt: question,
        tools: { get_weather: weatherTool(calls) },
        stopWhen: isStepCount(5),
      });
      expect(calls).toEqual(["Oslo", "Rome"]);
      expect(result.steps).toHaveLength(2);
      expect(result.text).toMatch(/Oslo is sunny\.[^]*Rome is sunny\./);
    },
  );

  test("tools run in several streamed steps", async () => {
    const calls: string[] = [];
    const result = streamText({
      model: model("no-index"),
      prompt: question,
      tools: { get_weather: weatherTool(calls) },
      stopWhen: isStepCount(5),
    });
    const steps = await result.steps;
    expect(calls).toEqual(["Oslo", "Rome"]);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(await result.text).toMatch(/Oslo is sunny\.[^]*Rome is sunny\./);
  });

  test("a conversation continues with the messages of the last turn", async () => {
    const first = { role: "user" as const, content: "Good morning" };
    const { response } = await generateText({ model: model("clean"), messages: [first] });
    await generateText({
      model: model("clean"),
      messages: [first, ...response.messages, { role: "user", content: "Good night" }],
    });
    const { body } = fixture.demo.requests.findLast(({ method }) => method === "POST") ?? {};
    expect(body).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", content: expect.stringContaining("> Good morning") },
        { role: "user" },
      ],
    });
  });

  test("an object that matches a schema is generated and streamed", async () => {
    const request = {
      model: model("clean"),
      prompt: "Oslo has 700000 people",
      output: Output.object({ schema: city }),
    };
    const expected = { name: expect.any(String), people: 700_000 };
    expect((await generateText(request)).output).toEqual(expected);
    const streamed = streamText(request);
    const partial: unknown[] = [];
    for await (const object of streamed.partialOutputStream) partial.push(object);
    expect(partial.length).toBeGreaterThan(1);
    expect(await streamed.output).toEqual(expected);
  });

  test("an image reaches the model", async () => {
    const { text } = await generateText({
      model: model("clean"),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "file", mediaType: "image/png", data: createSampleImage("roses") },
          ],
        },
      ],
    });
    expect(text).toContain("I received 1 image (image/png, ");
  });

  test("an error keeps its status and its message", async () => {
    const failure = await generateText({
      model: model("nobody"),
      prompt: "Hello",
      maxRetries: 0,
    }).catch((error: unknown) => error);
    expect(APICallError.isInstance(failure)).toBe(true);
    expect(failure).toMatchObject({
      statusCode: 404,
      message: expect.stringContaining("The model 'nobody' does not exist"),
    });
  });

  test("a stream that the upstream truncates is an error, not a normal end", async () => {
    const failures: unknown[] = [];
    const result = streamText({
      model: model("cut"),
      prompt: "Good morning",
      maxRetries: 0,
      onError: ({ error }) => void failures.push(error),
    });
    await result.consumeStream();
    expect(failures).toEqual([
      expect.objectContaining({
        code: "upstream_stream_truncated",
        message: expect.stringContaining("was lost before the reply was finished"),
      }),
    ]);
    expect(await result.finishReason).toBe("error");
  });
});
