import { HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { ChatOpenAI } from "@langchain/openai";
import type { JsonObject } from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { sendError } from "../test/scripted-upstream.ts";
import { gatewayFixture, testGateway } from "../test/gateway-fixture.ts";
import { upstreamToml } from "../test/test-gateway.ts";
import { sendReply } from "../test/wire-replies.ts";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

const weather = tool(({ city }) => `${city} is sunny.`, {
  name: "get_weather",
  description: "The weather in a city.",
  schema: z.object({ city: z.string() }),
});

function createModel(url: string, model: string, wire: "chat" | "responses") {
  return new ChatOpenAI({
    model,
    apiKey: "local",
    configuration: { baseURL: `${url}/v1` },
    maxRetries: 0,
    useResponsesApi: wire === "responses",
    // `store: false`: the history is sent with each request.
    zdrEnabled: wire === "responses",
  });
}

/** Runs the tools until the model returns a text. Returns all messages. */
async function runTools(model: ChatOpenAI, question: string): Promise<BaseMessage[]> {
  const withTools = model.bindTools([weather]);
  const messages: BaseMessage[] = [new HumanMessage(question)];
  for (let round = 0; round < 8; round += 1) {
    const chunks = [];
    for await (const chunk of await withTools.stream(messages)) chunks.push(chunk);
    const reply = chunks.reduce((joined, chunk) => concat(joined, chunk));
    messages.push(reply);
    const calls = reply.tool_calls ?? [];
    if (calls.length === 0) return messages;
    for (const call of calls) messages.push(await weather.invoke(call));
  }
  throw new Error("the model has not stopped calling tools");
}

const all = (["chat", "responses"] as const).flatMap((wire) =>
  (["overChat", "overResponses"] as const).map((upstream) => ({ wire, upstream })),
);

describe.each(all)("LangChain over $wire, $upstream", ({ wire, upstream }) => {
  test("invoke returns the text and the usage", async () => {
    const reply = await createModel(fixture[upstream].url, "clean", wire).invoke("Good morning");
    expect(reply.text).toContain("> Good morning");
    const isManyTokens = (count: number): boolean => count > 10;
    expect(reply).toMatchObject({
      usage_metadata: { output_tokens: expect.toSatisfy(isManyTokens) as number },
    });
  });

  test("parallel calls of a tool are answered", async () => {
    const model = createModel(fixture[upstream].url, "clean", wire);
    const messages = await runTools(model, "What is the weather in Oslo and Rome?");
    const results = messages.filter((message) => ToolMessage.isInstance(message));
    expect(new Set(results.map(({ text }) => text))).toEqual(
      new Set(["Oslo is sunny.", "Rome is sunny."]),
    );
    expect(results).toHaveLength(2);
    expect(messages.at(-1)?.text).toContain("sunny");
  });

  test("withStructuredOutput returns an object that matches the schema", async () => {
    const model = createModel(fixture[upstream].url, "clean", wire);
    const city = z.object({ name: z.string(), people: z.number() });
    const reply = await model.withStructuredOutput(city).invoke("Oslo has 700000 people");
    expect(reply).toMatchObject({ people: 700_000 });
  });
});

/** A Chat upstream that rejects calls without the reasoning that came with them. It calls a tool three times. */
async function strictFixture(profile: string) {
  const { gateway: overChat, upstream } = await gatewayFixture(
    ({ body }, response) => {
      const messages = body["messages"] as JsonObject[];
      const earlier = messages.filter(({ role }) => role === "assistant");
      const mark = JSON.stringify(messages.find(({ role }) => role === "user")).length;
      const wrong = earlier.findIndex(
        ({ reasoning_content: text }, index) => text !== `thought ${index} of ${mark}`,
      );
      if (wrong >= 0)
        return sendError(response, 400, {
          message: `messages: reasoning_content is missing in assistant message ${wrong}`,
          type: "invalid_request_error",
        });
      const reasoning = [`thought ${earlier.length}`, ` of ${mark}`];
      // The same ids in every conversation.
      const calls = [
        { id: `call_${earlier.length}`, name: "get_weather", arguments: ['{"city":', '"Oslo"}'] },
      ];
      sendReply("chat", response, body, {
        reasoning,
        ...(earlier.length < 3 ? { calls } : { text: ["It is sunny."] }),
      });
    },
    { upstream: { profile } },
  );
  const overResponses = await testGateway(
    upstreamToml("up", `${overChat.url}/v1`, { speaks: "responses", retries: 0 }),
  );
  return { overChat, overResponses, upstream };
}

describe.each(["deepseek", "generic"])("an upstream that requires reasoning (%s)", (profile) => {
  test.each(all)(
    "gets the reasoning of each call back from LangChain over $wire, $upstream",
    async ({ wire, upstream: name }) => {
      const strict = await strictFixture(profile);
      const model = createModel(strict[name].url, name === "overChat" ? "up/m" : "up/up/m", wire);
      for (const question of ["Is it sunny?", "Is it sunny in Oslo today?"]) {
        const messages = await runTools(model, question);
        expect(messages.at(-1)?.text).toBe("It is sunny.");
        const accepted = strict.upstream.requests.at(-1)?.body["messages"] as JsonObject[];
        const reasoning = accepted.flatMap(({ role, reasoning_content: text }) =>
          role === "assistant" ? [text] : [],
        );
        expect(reasoning).toEqual(
          [0, 1, 2].map((round) => expect.stringContaining(`t ${round} of`)),
        );
      }
    },
  );
});
