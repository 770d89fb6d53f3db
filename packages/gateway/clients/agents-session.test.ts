import { Agent, OpenAIConversationsSession, Runner, OpenAIProvider } from "@openai/agents";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

test.each(["overChat", "overResponses"] as const)(
  "@openai/agents stores its session in a conversation, %s",
  async (upstream) => {
    const client = new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local" });
    const runner = new Runner({
      modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }),
      tracingDisabled: true,
    });
    const session = new OpenAIConversationsSession({ client });
    const agent = new Agent({ name: "helper", instructions: "Be brief", model: "clean" });
    const first = await runner.run(agent, "My name is Ada", { session });
    expect(first.finalOutput).toContain("> My name is Ada");
    const second = await runner.run(agent, "Give me a summary of our conversation", { session });
    expect(second.finalOutput).toContain("My name is Ada");
    const items = await client.conversations.items.list(await session.getSessionId());
    expect(items.data.filter(({ type }) => type === "message").length).toBeGreaterThanOrEqual(4);
    await session.clearSession();
  },
);
