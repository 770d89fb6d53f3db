import {
  Agent,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
  type RunStreamEvent,
} from "@openai/agents";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  setTracingDisabled(true);
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const all = (["responses", "chat"] as const).flatMap((wire) =>
  (["overChat", "overResponses"] as const).map((upstream) => ({ wire, upstream })),
);

describe.each(all)("@openai/agents on the wire $wire, $upstream", ({ wire, upstream }) => {
  const runner = () =>
    new Runner({
      tracingDisabled: true,
      modelProvider: new OpenAIProvider({
        openAIClient: new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local" }),
        useResponses: wire === "responses",
      }),
    });

  test("an agent calls its tools and uses their results", async () => {
    const calls: string[] = [];
    const agent = weatherAgent("stop-with-calls", calls);
    const result = await runner().run(agent, "What is the weather in Oslo and Rome?");
    expect(calls.toSorted()).toEqual(["Oslo", "Rome"]);
    expect(result.finalOutput).toMatch(/Oslo is sunny\.[^]*Rome is sunny\./);
  });

  test("a streamed run yields text and items as they arrive", async () => {
    const calls: string[] = [];
    const agent = weatherAgent("no-index", calls);
    const result = await runner().run(agent, "What is the weather in Oslo and Rome?", {
      stream: true,
    });
    const events: RunStreamEvent[] = [];
    for await (const event of result) events.push(event);
    await result.completed;
    const items = events.flatMap((event) =>
      event.type === "run_item_stream_event" ? [event.name] : [],
    );
    expect(items.filter((name) => name === "tool_called")).toHaveLength(2);
    expect(items.filter((name) => name === "tool_output")).toHaveLength(2);
    const text = events.flatMap((event) =>
      event.type === "raw_model_stream_event" && event.data.type === "output_text_delta"
        ? [event.data.delta]
        : [],
    );
    expect(text.join("")).toContain("Oslo is sunny.");
    expect(result.finalOutput).toMatch(/Oslo is sunny\.[^]*Rome is sunny\./);
  });

  test.each([false, true])("an agent hands off to another, streamed: %s", async (stream) => {
    const calls: string[] = [];
    const spanish = new Agent({
      name: "Spanish",
      instructions: "You speak Spanish.",
      model: "clean",
      tools: [weatherTool(calls)],
    });
    const triage = new Agent({
      name: "Triage",
      instructions: "You hand over.",
      model: "clean",
      handoffs: [spanish],
    });
    const prompt = "hand over to the spanish agent: the weather in Oslo, please";
    const result = stream
      ? await runner().run(triage, prompt, { stream })
      : await runner().run(triage, prompt);
    if ("completed" in result) await result.completed;
    expect(result.lastAgent?.name).toBe("Spanish");
    expect(calls).toEqual(["Oslo"]);
    expect(result.finalOutput).toContain("Oslo is sunny.");
  });

  test("an agent returns an object of its output type", async () => {
    const agent = new Agent({
      name: "Atlas",
      instructions: "You know cities.",
      model: "clean",
      outputType: z.object({ name: z.string(), people: z.number().int() }),
    });
    const result = await runner().run(agent, "Oslo has 700000 people");
    expect(result.finalOutput).toEqual({ name: expect.any(String), people: 700_000 });
  });

  test("a conversation continues with the history of the last run", async () => {
    const calls: string[] = [];
    const agent = weatherAgent("needs-reasoning", calls);
    const first = await runner().run(agent, "What is the weather in Oslo?");
    const second = await runner().run(agent, [
      ...first.history,
      { role: "user", content: "And the weather in Rome?" },
    ]);
    expect(calls).toEqual(["Oslo", "Rome"]);
    expect(second.finalOutput).toContain("Rome is sunny.");
  });
});

function weatherAgent(model: string, calls: string[]): Agent {
  return new Agent({
    name: "Meteorologist",
    instructions: "You know the weather.",
    model,
    tools: [weatherTool(calls)],
  });
}

function weatherTool(calls: string[]) {
  return tool({
    name: "get_weather",
    description: "The weather in a city.",
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => {
      calls.push(city);
      return `${city} is sunny.`;
    },
  });
}
