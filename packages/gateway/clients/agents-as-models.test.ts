import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, streamText, type LanguageModel } from "ai";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agentFixture, type AgentFixture } from "./agent-fixture.ts";
import { startCodex } from "./codex-fixture.ts";

const weather = "What is the weather in Oslo?";
const message = "Send a message to Ann: hello";
const called = "Calling `get_weather`.";
const answered = /^`get_weather` answered: .*"city":"Oslo".*sunny/;

describe("an agent as a model", () => {
  let fixture: AgentFixture;

  beforeAll(async () => {
    fixture = await agentFixture();
  });

  afterAll(() => fixture.close());

  const client = () => new OpenAI({ baseURL: `${fixture.gateway.url}/v1`, apiKey: "local" });

  describe("of the openai SDK", () => {
    test("is listed", async () => {
      const ids: string[] = [];
      for await (const { id } of client().models.list()) ids.push(id);
      expect(ids).toContain("demo-agent");
    });

    test("returns a complete response with its messages as items", async () => {
      const response = await client().responses.create({ model: "demo-agent", input: weather });
      expect(response.status).toBe("completed");
      expect(response.output.map(({ type }) => type)).toEqual([
        "reasoning",
        "message",
        "reasoning",
        "message",
      ]);
      expect(response.output_text).toContain(called);
      expect(response.usage?.total_tokens).toBeGreaterThan(100);
    });

    test("streams, and the SDK's accumulated response is the same", async () => {
      const stream = client().responses.stream({ model: "demo-agent", input: weather });
      const texts = new Map<string, string>();
      for await (const event of stream)
        if (event.type === "response.output_text.delta")
          texts.set(event.item_id, (texts.get(event.item_id) ?? "") + event.delta);
      const response = await stream.finalResponse();
      expect([...texts.values()]).toEqual([called, expect.stringMatching(answered)]);
      expect(response.output_text).toBe([...texts.values()].join(""));
      expect(response.output.some(({ type }) => type === "function_call")).toBe(false);
    });

    test("continues its last response", async () => {
      const first = await client().responses.create({ model: "demo-agent", input: "Good morning" });
      await client().responses.create({
        model: "demo-agent",
        input: "Good night",
        previous_response_id: first.id,
      });
      const { body } = fixture.demo.requests.findLast(({ method }) => method === "POST") ?? {};
      expect((body as { messages: { role: string }[] }).messages.map(({ role }) => role)).toEqual([
        "system",
        "user",
        "assistant",
        "user",
      ]);
    });

    test("completes a chat, streaming or not, with blank lines between messages", async () => {
      const request = {
        model: "demo-agent",
        messages: [{ role: "user" as const, content: weather }],
      };
      const complete = await client().chat.completions.create(request);
      const [choice] = complete.choices;
      expect(choice?.finish_reason).toBe("stop");
      expect(choice?.message.tool_calls ?? []).toEqual([]);
      const [first, second] = (choice?.message.content ?? "").split("\n\n");
      expect([first, second]).toEqual([called, expect.stringMatching(answered)]);
      const stream = client().chat.completions.stream({
        ...request,
        stream_options: { include_usage: true },
      });
      const streamed = await stream.finalChatCompletion();
      expect(streamed.choices[0]?.message.content).toBe(choice?.message.content);
      expect(streamed.usage?.total_tokens).toBe(complete.usage?.total_tokens);
    });

    test("that needs an approval fails with a clear error, and retries use the same task", async () => {
      const before = (await fixture.tasks()).length;
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const response = await client().responses.create({ model: "demo-agent", input: message });
        expect(response.status).toBe("failed");
        expect(response.error).toMatchObject({ code: "approval_required" });
      }
      const request = {
        model: "demo-agent",
        messages: [{ role: "user" as const, content: message }],
      };
      const complete = await client()
        .chat.completions.create(request)
        .catch((error: unknown) => error);
      expect(complete).toBeInstanceOf(OpenAI.ConflictError);
      expect(complete).toMatchObject({
        status: 409,
        code: "approval_required",
        message: expect.stringContaining(`${fixture.gateway.url}/api/tasks/task_`),
      });
      const streamed = await client()
        .chat.completions.stream(request)
        .finalChatCompletion()
        .catch((error: unknown) => error);
      expect(streamed).toMatchObject({ code: "approval_required" });
      const waitingTasks = (await fixture.tasks()).slice(0, -before || undefined);
      expect(new Set(waitingTasks.map(({ status }) => status))).toEqual(
        new Set(["input_required"]),
      );
      // One for each API.
      expect(waitingTasks).toHaveLength(2);
    });
  });

  const providers = {
    "responses of @ai-sdk/openai": (baseURL: string): LanguageModel =>
      createOpenAI({ baseURL, apiKey: "local" }).responses("demo-agent"),
    "chat of @ai-sdk/openai": (baseURL: string): LanguageModel =>
      createOpenAI({ baseURL, apiKey: "local" }).chat("demo-agent"),
    "@ai-sdk/openai-compatible": (baseURL: string): LanguageModel =>
      createOpenAICompatible({ name: "deltawire", baseURL, apiKey: "local", includeUsage: true })(
        "demo-agent",
      ),
  };

  describe.each(Object.entries(providers))("of the ai SDK with %s", (_name, provider) => {
    const model = () => provider(`${fixture.gateway.url}/v1`);

    test("returns text and usage, and no calls", async () => {
      const result = await generateText({ model: model(), prompt: weather });
      expect(result.text).toContain(called);
      expect(result.text).toMatch(/"city":"Oslo"/);
      expect(result.toolCalls).toEqual([]);
      expect(result.finishReason).toBe("stop");
      expect(result.usage.totalTokens).toBeGreaterThan(100);
    });

    test("streams the same", async () => {
      const result = streamText({ model: model(), prompt: weather });
      const types = new Set<string>();
      for await (const { type } of result.fullStream) types.add(type);
      expect([...types].filter((type) => /tool|error/.test(type))).toEqual([]);
      expect(await result.text).toMatch(/Calling `get_weather`\.[^]*"city":"Oslo"/);
      expect(await result.finishReason).toBe("stop");
    });

    test("reports that an approval is needed", async () => {
      const failure = await generateText({
        model: model(),
        prompt: `${message}, ${_name}`,
        maxRetries: 0,
      }).catch((error: unknown) => error);
      expect(APICallError.isInstance(failure)).toBe(true);
      expect((failure as Error).message).toContain(`${fixture.gateway.url}/api/tasks/task_`);
    });
  });
});

describe("Codex with an agent as its model", () => {
  let fixture: AgentFixture;

  beforeEach(async () => {
    fixture = await agentFixture();
  });

  afterEach(() => fixture.close());

  test("shows the agent's messages and runs nothing", async () => {
    const codex = await startCodex(fixture.gateway, "demo-agent");
    const turn = await codex.exec(weather);
    expect(turn.messages).toEqual([called, expect.stringMatching(answered)]);
    expect(turn.reasoning).toHaveLength(2);
    expect(new Set(turn.items.map(({ type }) => type))).toEqual(
      new Set(["reasoning", "agent_message"]),
    );
    expect(turn.errors).toEqual([]);
    expect(turn.exitCode).toBe(0);
    expect(turn.usage["output_tokens"]).toBeGreaterThan(10);
    const { body } = fixture.demo.requests.find(({ method }) => method === "POST") ?? {};
    // Its prompt is about tools that the agent does not have.
    expect(JSON.stringify(body)).not.toContain("You are a coding agent");
  });

  test("runs no command for the agent's calls, and continues in the next turn", async () => {
    const codex = await startCodex(fixture.gateway, "demo-agent");
    const first = await codex.exec("Please run `echo one >> ran.txt`");
    expect([first.commands, first.exitCode]).toEqual([[], 0]);
    await expect(codex.read("ran.txt")).rejects.toThrow("ENOENT");
    const second = await codex.resume(weather);
    expect(second.messages.at(-1)).toMatch(answered);
    expect(second.errors).toEqual([]);
  });

  test("reports a needed approval, and its retries use one task", async () => {
    const codex = await startCodex(fixture.gateway, "demo-agent", {
      provider: "stream_max_retries = 2",
    });
    const turn = await codex.exec(message);
    expect(turn.errors.join("\n")).toContain(`${fixture.gateway.url}/api/tasks/task_`);
    expect(turn.exitCode).not.toBe(0);
    expect(await fixture.tasks()).toMatchObject([{ status: "input_required" }]);
  });
});
