import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSampleImage } from "@deltawire/demo";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const question = "What is the weather in Oslo and Rome?";
const weather = zodFunction({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: z.object({ city: z.string() }),
});
const city = z.object({ name: z.string(), people: z.number().int() });
const user = (content: string) => [{ role: "user" as const, content }];

describe.each(["overChat", "overResponses"] as const)("the openai SDK's chat, %s", (upstream) => {
  const client = () =>
    new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

  test("create returns the text and the usage", async () => {
    const completion = await client().chat.completions.create({
      model: "clean",
      messages: user("Good morning"),
    });
    const [choice] = completion.choices;
    expect(choice?.message.content).toContain("> Good morning");
    expect(choice?.message).toHaveProperty("reasoning_content");
    expect(choice?.finish_reason).toBe("stop");
    expect(completion.usage?.completion_tokens).toBeGreaterThan(10);
  });

  test("n choices are returned, streaming or not", async () => {
    const completionRequest = { model: "clean", messages: user("Good morning"), n: 3 };
    const completion = await client().chat.completions.create(completionRequest);
    expect(completion.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const stream = client().chat.completions.stream(completionRequest);
    const { choices } = await stream.finalChatCompletion();
    expect(choices.map(({ message }) => message.content)).toEqual(
      completion.choices.map(({ message }) => message.content),
    );
  });

  test("stream yields the deltas, the usage if requested, and the same result at the end", async () => {
    const stream = client().chat.completions.stream({
      model: "clean",
      messages: user("Good morning"),
      stream_options: { include_usage: true },
    });
    let text = "";
    stream.on("content", (delta) => (text += delta));
    const completion = await stream.finalChatCompletion();
    expect(text).toContain("> Good morning");
    expect(completion.choices[0]?.message.content).toBe(text);
    expect(completion.usage?.total_tokens).toBeGreaterThan(10);
  });

  test("a stream has no usage unless it is requested", async () => {
    const stream = await client().chat.completions.create({
      model: "clean",
      messages: user("Good morning"),
      stream: true,
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.filter(({ usage }) => usage)).toEqual([]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
  });

  test("parse returns an object that matches the schema", async () => {
    const completion = await client().chat.completions.parse({
      model: "clean",
      messages: user("Oslo has 700000 people"),
      response_format: zodResponseFormat(city, "city"),
    });
    expect(completion.choices[0]?.message.parsed).toEqual({
      name: expect.any(String),
      people: 700_000,
    });
  });

  test("parse also works if the server does not support schemas", async () => {
    const completion = await client().chat.completions.parse({
      model: "no-json-schema",
      messages: user("Oslo has 700000 people"),
      response_format: zodResponseFormat(city, "city"),
    });
    expect(completion.choices[0]?.message.parsed).toMatchObject({ people: 700_000 });
  });

  test.each(["clean", "stop-with-calls", "no-index", "missing-ids", "object-arguments"])(
    "calls are parsed on an upstream like %s, streaming or not",
    async (model) => {
      const completionRequest = { model, messages: user(question), tools: [weather] };
      const complete = await client().chat.completions.parse(completionRequest);
      const streamed = await client()
        .chat.completions.stream(completionRequest)
        .finalChatCompletion();
      for (const { choices } of [complete, streamed]) {
        const calls = choices[0]?.message.tool_calls ?? [];
        expect(calls.map(parsedArguments)).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
        expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
        expect(choices[0]?.finish_reason).toBe("tool_calls");
      }
    },
  );

  test.each([false, true])(
    "runTools runs the tools and returns the final text, streamed: %s",
    async (stream) => {
      const requestedCities: string[] = [];
      const tool = {
        type: "function" as const,
        function: {
          name: "get_weather",
          description: "The weather in a city.",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          },
          parse: (text: string) => JSON.parse(text) as { city: string },
          function: ({ city: name }: { city: string }) => {
            requestedCities.push(name);
            return `${name} is sunny.`;
          },
        },
      };
      const request = { model: "stop-with-calls", messages: user(question), tools: [tool] };
      const runner = stream
        ? client().chat.completions.runTools({ ...request, stream })
        : client().chat.completions.runTools(request);
      expect(await runner.finalContent()).toBe(
        "`get_weather` answered: Oslo is sunny.\n\n`get_weather` answered: Rome is sunny.",
      );
      expect(requestedCities).toEqual(["Oslo", "Rome"]);
    },
  );

  test("images and files reach the upstream, and audio is accepted", async () => {
    const completion = await client().chat.completions.create({
      model: "clean",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What are these?" },
            {
              type: "image_url",
              image_url: { url: `data:image/png;base64,${base64(createSampleImage("roses"))}` },
            },
            {
              type: "file",
              file: {
                filename: "report.pdf",
                file_data: `data:application/pdf;base64,${base64("%PDF-1.7")}`,
              },
            },
            { type: "input_audio", input_audio: { data: base64("RIFF"), format: "wav" } },
          ],
        },
      ],
    });
    expect(completion.choices[0]?.message.content).toMatch(
      /^I received 1 image \(image\/png, .*\) and 1 file \(report\.pdf, 8 bytes\)/,
    );
  });

  test("a stream that the upstream cuts off throws", async () => {
    const stream = client().chat.completions.stream({
      model: "cut",
      messages: user("Good morning"),
    });
    await expect(stream.finalChatCompletion()).rejects.toThrow(
      /was lost before the reply was finished/,
    );
  });
});

function parsedArguments(call: { type: string; function?: unknown }): unknown {
  return (call.function as { parsed_arguments?: unknown }).parsed_arguments;
}

function base64(data: string | Buffer): string {
  return Buffer.from(data).toString("base64");
}
