import OpenAI from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSampleImage } from "@deltawire/demo";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const weather = zodResponsesFunction({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: z.object({ city: z.string() }),
});

const city = z.object({ name: z.string(), people: z.number().int() });

describe.each(["overChat", "overResponses"] as const)(
  "the openai SDK's responses, %s",
  (upstream) => {
    const client = () =>
      new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

    test("create returns the text, the reasoning and the usage", async () => {
      const response = await client().responses.create({ model: "clean", input: "Good morning" });
      expect(response.output_text).toContain("> Good morning");
      expect(response.status).toBe("completed");
      expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
      expect(response.usage?.total_tokens).toBe(
        (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
      );
      expect(response.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
    });

    test("stream yields the deltas, in order, and the same response at the end", async () => {
      const stream = client().responses.stream({ model: "clean", input: "Good morning" });
      let text = "";
      let reasoning = "";
      const numbers: number[] = [];
      for await (const event of stream) {
        numbers.push(event.sequence_number);
        if (event.type === "response.output_text.delta") text += event.delta;
        if (event.type === "response.reasoning_summary_text.delta") reasoning += event.delta;
      }
      const response = await stream.finalResponse();
      expect(text).toContain("> Good morning");
      expect(response.output_text).toBe(text);
      expect(reasoning).toContain("No tool is needed here.");
      expect(numbers).toEqual(numbers.map((_, index) => index));
    });

    test("parse returns an object that matches the schema", async () => {
      const response = await client().responses.parse({
        model: "clean",
        input: "Oslo has 700000 people",
        text: { format: zodTextFormat(city, "city") },
      });
      expect(response.output_parsed).toEqual({ name: expect.any(String), people: 700_000 });
    });

    test("a call is parsed, and its result is used in the next turn", async () => {
      const first = await client().responses.parse({
        model: "clean",
        input: "What is the weather in Oslo and Rome?",
        tools: [weather],
      });
      const calls = first.output.filter((item) => item.type === "function_call");
      expect(calls.map((call) => call.parsed_arguments)).toEqual([
        { city: "Oslo" },
        { city: "Rome" },
      ]);
      const second = await client().responses.create({
        model: "clean",
        tools: [weather],
        input: [
          { role: "user", content: "What is the weather in Oslo and Rome?" },
          ...first.output.map(asInput),
          ...calls.map(({ call_id }, index) => ({
            type: "function_call_output" as const,
            call_id,
            output: `${10 + index} degrees`,
          })),
        ],
      });
      expect(second.output_text).toBe(
        "`get_weather` answered: 10 degrees\n\n`get_weather` answered: 11 degrees",
      );
    });

    test("a call is streamed as deltas that add up to its arguments", async () => {
      const stream = client().responses.stream({
        model: "stop-with-calls",
        input: "What is the weather in Oslo?",
        tools: [weather],
      });
      let deltas = "";
      for await (const event of stream)
        if (event.type === "response.function_call_arguments.delta") deltas += event.delta;
      const { output, status } = await stream.finalResponse();
      const call = output.find((item) => item.type === "function_call");
      expect(call).toMatchObject({ name: "get_weather", arguments: deltas, status: "completed" });
      expect(JSON.parse(deltas)).toEqual({ city: "Oslo" });
      expect(status).toBe("completed");
    });

    test("a custom tool is called with free text", async () => {
      const response = await client().responses.create({
        model: "clean",
        input: "Use the note tool with `remember the milk`",
        tools: [{ type: "custom", name: "note", description: "Writes a note." }],
      });
      expect(response.output).toContainEqual(
        expect.objectContaining({
          type: "custom_tool_call",
          name: "note",
          input: "remember the milk",
        }),
      );
    });

    test("images and files reach the upstream", async () => {
      const image = createSampleImage("roses").toString("base64");
      const response = await client().responses.create({
        model: "clean",
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "What are these?" },
              {
                type: "input_image",
                detail: "auto",
                image_url: `data:image/png;base64,${image}`,
              },
              {
                type: "input_file",
                filename: "report.pdf",
                file_data: `data:application/pdf;base64,${Buffer.from("%PDF-1.7").toString("base64")}`,
              },
            ],
          },
        ],
      });
      expect(response.output_text).toMatch(
        /^I received 1 image \(image\/png, .*\) and 1 file \(report\.pdf, 8 bytes\)/,
      );
    });

    test("a token limit ends the response as incomplete", async () => {
      const response = await client().responses.create({
        model: "clean",
        input: "long 500",
        max_output_tokens: 40,
      });
      expect(response.status).toBe("incomplete");
      expect(response.incomplete_details).toEqual({ reason: "max_output_tokens" });
    });

    test("a stream that the upstream cuts off ends as failed", async () => {
      const stream = client().responses.stream({ model: "cut", input: "Good morning" });
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      expect(types.at(-1)).toBe("response.failed");
      expect(types).not.toContain("response.completed");
      const response = await stream.finalResponse();
      expect(response.status).toBe("failed");
      expect(response.error?.code).toBe("upstream_stream_truncated");
      expect(response.output.at(-1)).toMatchObject({ type: "message", status: "incomplete" });
    });
  },
);

/** Returns an output item as the SDK's own helper sends it back: without the fields that the SDK added. */
function asInput(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  const { parsed_arguments: _, ...rest } = item as typeof item & { parsed_arguments?: unknown };
  return rest as OpenAI.Responses.ResponseInputItem;
}
