import type { ChatChunkChoice, JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  answerText,
  agentResponsesRequest,
  agentChatRequest,
  callTool,
  callClock,
  getOutput,
  getFinalResponse,
  getSentMessages,
  scriptedAgentFixture,
  streamOption,
  fetchTasks,
  getOutputTexts,
  listEventTypes,
  type ScriptedRound,
} from "./agent-fixture.ts";
import { readEvents } from "./test-gateway.ts";
import { waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, sendError } from "./scripted-upstream.ts";

describe("an agent used as a model", () => {
  test("sends its reasoning and messages as Responses items, but not its tool calls", async () => {
    const { gateway, upstream } = await scriptedAgentFixture([
      callClock,
      answerText("It is", " noon."),
    ]);
    const reply = await gateway.post("/responses", {
      ...agentResponsesRequest,
      ...streamOption,
      metadata: { a: "b" },
    });
    const events = await readEvents(reply);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
      events.map((_, index) => index),
    );
    expect(listEventTypes(events).slice(0, 2)).toEqual([
      "response.created",
      "response.in_progress",
    ]);
    expect(JSON.stringify(events)).not.toMatch(/function_call|current_time"|tool_result|call_/);
    const response = getFinalResponse(events);
    expect(response).toMatchObject({
      object: "response",
      status: "completed",
      model: "clerk",
      error: null,
      metadata: { a: "b", deltawire_task: reply.headers.get("x-deltawire-task") },
    });
    expect(getOutput(response).map(({ type, status }) => [type, status])).toEqual([
      ["reasoning", "completed"],
      ["message", "completed"],
      ["reasoning", "completed"],
      ["message", "completed"],
    ]);
    expect(getOutputTexts(response)).toEqual(["One moment.", "It is noon."]);
    const done = events.flatMap((each) =>
      each["type"] === "response.output_item.done" ? [each["item"]] : [],
    );
    expect(done).toEqual(getOutput(response));
    const messages = getSentMessages(upstream, 1);
    expect(messages[0]).toMatchObject({ content: expect.stringContaining("You are the clerk.") });
    expect(messages.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining("T") });
  });

  test("sends deltas that add up to the text", async () => {
    const { gateway } = await scriptedAgentFixture([callClock, answerText("It is", " noon.")]);
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }),
    );
    const joined = new Map<string, string>();
    for (const each of events as { type: string; item_id: string; delta: string }[])
      if (each.type === "response.output_text.delta")
        joined.set(each.item_id, (joined.get(each.item_id) ?? "") + each.delta);
    expect([...joined.values()]).toEqual(["One moment.", "It is noon."]);
  });

  test("separates messages and reasoning with blank lines in the Chat API, streamed or not", async () => {
    const { gateway } = await scriptedAgentFixture([
      callClock,
      answerText("It is", " noon."),
      callClock,
      answerText("It is", " noon."),
    ]);
    const events = await readEvents(
      await gateway.post("/chat/completions", {
        ...agentChatRequest,
        ...streamOption,
        stream_options: { include_usage: true },
      }),
    );
    const choices = events.flatMap(({ choices: each }) => (each ?? []) as ChatChunkChoice[]);
    const joinDeltas = (field: "content" | "reasoning_content") =>
      choices.reduce((text, { delta }) => text + ((delta?.[field] ?? "") as string), "");
    expect(joinDeltas("content")).toBe("One moment.\n\nIt is noon.");
    expect(joinDeltas("reasoning_content")).toBe("I need current_time.\n\nNow I know.");
    expect(choices.at(-1)).toMatchObject({ finish_reason: "stop" });
    expect(JSON.stringify(events)).not.toContain("tool_calls");
    expect(events.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 110, total_tokens: 132 },
    });
    expect(events.at(-1)).toEqual({ done: true });
    const complete = (await (
      await gateway.post("/chat/completions", agentChatRequest)
    ).json()) as JsonObject;
    expect(complete).toMatchObject({
      object: "chat.completion",
      model: "clerk",
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: {
            role: "assistant",
            content: "One moment.\n\nIt is noon.",
            reasoning_content: "I need current_time.\n\nNow I know.",
          },
        },
      ],
      usage: { prompt_tokens: 110, completion_tokens: 22, total_tokens: 132 },
    });
  });

  test.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("sends an answer that ended with %s as incomplete, in both APIs", async (finish, reason) => {
    const truncatedRound: ScriptedRound = (response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "It is alm" })));
      response.end(formatEvent(chatChunk({}, finish)) + formatEvent("[DONE]"));
    };
    const { gateway } = await scriptedAgentFixture([callClock, truncatedRound, truncatedRound]);
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }),
    );
    expect(listEventTypes(events).at(-1)).toBe("response.incomplete");
    expect(getFinalResponse(events)).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason },
      error: null,
    });
    const complete = (await (
      await gateway.post("/chat/completions", agentChatRequest)
    ).json()) as JsonObject;
    expect(complete).toMatchObject({
      choices: [{ finish_reason: finish, message: { content: "It is alm" } }],
    });
    const chunks = await readEvents(
      await gateway.post("/chat/completions", { ...agentChatRequest, ...streamOption }),
    );
    const choices = chunks.flatMap(({ choices: each }) => (each ?? []) as ChatChunkChoice[]);
    expect(choices.at(-1)).toMatchObject({ finish_reason: finish });
  });

  test("does not send usage to a Chat client that did not request it", async () => {
    const { gateway } = await scriptedAgentFixture([answerText("Hi.")]);
    const events = await readEvents(
      await gateway.post("/chat/completions", { ...agentChatRequest, ...streamOption }),
    );
    expect(events.some((each) => "usage" in each)).toBe(false);
  });

  test("hides the work of its sub-agents but counts their usage", async () => {
    const askAide = callTool(
      "ask_for_help",
      { name: "aide", prompt: "The time?" },
      "I ask the aide.",
    );
    const { gateway } = await scriptedAgentFixture([
      askAide,
      answerText("Noon, says the aide."),
      answerText("It is noon."),
    ]);
    const response = (await (
      await gateway.post("/responses", agentResponsesRequest)
    ).json()) as JsonObject;
    expect(getOutputTexts(response)).toEqual(["I ask the aide.", "It is noon."]);
    expect(response["usage"]).toMatchObject({ input_tokens: 120, output_tokens: 22 });
  });

  test("sends raw reasoning to a client that requests it", async () => {
    const { gateway } = await scriptedAgentFixture([answerText("Hi.")]);
    const headers = { "x-deltawire-reasoning": "raw" };
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }, { headers }),
    );
    expect(listEventTypes(events)).toContain("response.reasoning_text.delta");
    expect(listEventTypes(events)).not.toContain("response.reasoning_summary_text.delta");
    expect(getOutput(getFinalResponse(events))[0]).toMatchObject({
      summary: [],
      content: [{ type: "reasoning_text", text: "Now I know." }],
    });
  });

  test("omits a partial answer that was retried from the complete reply", async () => {
    const brokenRound: ScriptedRound = (response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "It is ele" })));
      setTimeout(() => response.destroy(), 20);
    };
    const { gateway } = await scriptedAgentFixture([
      brokenRound,
      answerText("It is noon."),
      brokenRound,
      answerText("It is noon."),
    ]);
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }),
    );
    expect(getOutputTexts(getFinalResponse(events))).toEqual(["It is noon."]);
    const partialItem = events.find(
      (each) =>
        each["type"] === "response.output_item.done" &&
        (each["item"] as JsonObject)["status"] === "incomplete",
    );
    expect(partialItem).toMatchObject({ item: { content: [{ text: "It is ele" }] } });
    const complete = (await (
      await gateway.post("/chat/completions", agentChatRequest)
    ).json()) as JsonObject;
    expect(complete).toMatchObject({ choices: [{ message: { content: "It is noon." } }] });
  });

  test("passes images and the history to its model", async () => {
    const { gateway, upstream } = await scriptedAgentFixture([answerText("A dot.")]);
    const image = `data:image/png;base64,${Buffer.from("a picture").toString("base64")}`;
    const reply = await gateway.post("/chat/completions", {
      model: "clerk",
      messages: [
        { role: "system", content: "Speak plainly." },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hello [^1]." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: image } },
          ],
        },
      ],
    });
    expect(reply.status).toBe(200);
    const messages = getSentMessages(upstream, 0);
    expect(JSON.stringify(messages)).toContain("Speak plainly.");
    expect(messages.at(-2)).toMatchObject({ role: "assistant", content: "Hello [^1]." });
    expect(messages.at(-1)).toMatchObject({
      role: "user",
      content: [{ text: "What is this?" }, { image_url: { url: image } }],
    });
  });

  test("continues an earlier response by its id", async () => {
    const { gateway, upstream } = await scriptedAgentFixture([answerText("Noon.")]);
    const first = (await (
      await gateway.post("/responses", agentResponsesRequest)
    ).json()) as JsonObject;
    const next = { model: "clerk", input: "Sure?", previous_response_id: first["id"] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    const messages = getSentMessages(upstream, 1);
    expect(messages.slice(1).map(({ role, content }) => [role, content])).toEqual([
      ["user", "What time is it?"],
      ["assistant", "Noon."],
      ["user", "Sure?"],
    ]);
    const unknownPrevious = { ...next, previous_response_id: "resp_unknown" };
    expect((await gateway.post("/responses", unknownPrevious)).status).toBe(400);
  });
});

describe("an option that agents do not support is rejected", () => {
  test.each([
    ["/chat/completions", { ...agentChatRequest, n: 2 }, "n"],
    [
      "/chat/completions",
      { ...agentChatRequest, response_format: { type: "json_object" } },
      "response_format",
    ],
    [
      "/responses",
      { ...agentResponsesRequest, text: { format: { type: "json_object" } } },
      "text.format",
    ],
    ["/responses", { ...agentResponsesRequest, tool_choice: "required", tools: [] }, "tool_choice"],
    ["/responses", { model: "clerk", input: [] }, "input"],
    [
      "/responses",
      {
        model: "clerk",
        input: [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }],
      },
      "file_id",
    ],
  ])("in a request to %s with %j, naming %s", async (path, body, param) => {
    const { gateway, upstream } = await scriptedAgentFixture([answerText("Hi.")]);
    const reply = await gateway.post(path, body);
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { error: { code: "invalid_request", param } },
    ]);
    expect(upstream.requests).toEqual([]);
    expect(await fetchTasks(gateway)).toEqual([]);
  });
});

test("a model's rejection of an agent's request is a failed response, and an error with its status for a Chat client", async () => {
  const rejectingRound: ScriptedRound = (response) =>
    sendError(response, 400, {
      message: "maximum context length is 10 tokens",
      code: "context_length_exceeded",
    });
  const { gateway } = await scriptedAgentFixture([rejectingRound]);
  const response = (await (
    await gateway.post("/responses", agentResponsesRequest)
  ).json()) as JsonObject;
  expect(response).toMatchObject({ status: "failed", error: { code: "context_length_exceeded" } });
  const complete = await gateway.post("/chat/completions", agentChatRequest);
  expect([complete.status, await complete.json()]).toMatchObject([
    400,
    { error: { code: "context_length_exceeded" } },
  ]);
  const events = await readEvents(
    await gateway.post("/chat/completions", { ...agentChatRequest, ...streamOption }),
  );
  expect(events.at(-1)).toMatchObject({ error: { code: "context_length_exceeded" } });
});

test("a request to an agent is logged with the agent's name and its usage", async () => {
  const { gateway } = await scriptedAgentFixture([callClock, answerText("Noon.")]);
  await (await gateway.post("/responses", agentResponsesRequest)).json();
  await waitUntil("it is logged", () => gateway.lines.length > 0);
  expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
    model: "clerk",
    status: 200,
    tokens_in: 110,
    tokens_out: 21,
  });
});
