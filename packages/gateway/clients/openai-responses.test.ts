import OpenAI from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { pictureFor } from "@deltawire/demo";
import { demoStage, type DemoStage } from "./demo-stage.ts";

let stage: DemoStage;

beforeAll(async () => {
  stage = await demoStage();
});

afterAll(() => stage.close());

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
      new OpenAI({ baseURL: `${stage[upstream].url}/v1`, apiKey: "local", maxRetries: 0 });

    test("create gives the text, the reasoning and the usage", async () => {
      const response = await client().responses.create({ model: "clean", input: "Good morning" });
      expect(response.output_text).toContain("> Good morning");
      expect(response.status).toBe("completed");
      expect(response.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
      expect(response.usage?.total_tokens).toBe(
        (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
      );
      expect(response.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
    });

    test("stream gives the deltas, in order, and the same response at the end", async () => {
      const stream = client().responses.stream({ model: "clean", input: "Good morning" });
      let text = "";
      let thought = "";
      const numbers: number[] = [];
      for await (const event of stream) {
        numbers.push(event.sequence_number);
        if (event.type === "response.output_text.delta") text += event.delta;
        if (event.type === "response.reasoning_summary_text.delta") thought += event.delta;
      }
      const response = await stream.finalResponse();
      expect(text).toContain("> Good morning");
      expect(response.output_text).toBe(text);
      expect(thought).toContain("No tool is needed here.");
      expect(numbers).toEqual(numbers.map((_, at) => at));
    });

    test("parse gives an object of the schema", async () => {
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
          ...calls.map(({ call_id }, at) => ({
            type: "function_call_output" as const,
            call_id,
            output: `${10 + at} degrees`,
          })),
        ],
      });
      expect(second.output_text).toBe(
        "`get_weather` answered: 10 degrees\n\n`get_weather` answered: 11 degrees",
      );
    });

    test("a call is streamed as deltas that make its arguments", async () => {
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

    test("pictures and files arrive", async () => {
      const picture = pictureFor("roses").toString("base64");
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
                image_url: `data:image/png;base64,${picture}`,
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
        /^I got 1 image \(image\/png, .*\) and 1 file \(report\.pdf, 8 bytes\)/,
      );
    });

    test("a limit on the tokens ends the response as incomplete", async () => {
      const response = await client().responses.create({
        model: "clean",
        input: "long 500",
        max_output_tokens: 40,
      });
      expect(response.status).toBe("incomplete");
      expect(response.incomplete_details).toEqual({ reason: "max_output_tokens" });
    });

    test("a stream that the upstream cuts is never a completed one", async () => {
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

/** An output item as the SDK's own helper sends it back: without what it added itself. */
function asInput(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  const { parsed_arguments: _, ...rest } = item as typeof item & { parsed_arguments?: unknown };
  return rest as OpenAI.Responses.ResponseInputItem;
}
