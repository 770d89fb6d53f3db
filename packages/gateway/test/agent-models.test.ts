import type { ChatChunkChoice, JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  answers,
  ask,
  askChat,
  calls,
  clock,
  itemsOf,
  lastResponse,
  messagesOf,
  office,
  streamed,
  tasksOf,
  textsOf,
  typesOf,
  type Round,
} from "./agent-office.ts";
import { eventsOf } from "./running-gateway.ts";
import { until } from "./scene.ts";
import { beginStream, chunk, event, refuse } from "./scripted-upstream.ts";

describe("an agent asked as a model", () => {
  test("on the Responses wire its reasoning and messages are items of their own, and its calls none", async () => {
    const { gateway, upstream } = await office([clock, answers("It is", " noon.")]);
    const reply = await gateway.post("/responses", { ...ask, ...streamed, metadata: { a: "b" } });
    const events = await eventsOf(reply);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(typesOf(events).slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(JSON.stringify(events)).not.toMatch(/function_call|current_time"|tool_result|call_/);
    const response = lastResponse(events);
    expect(response).toMatchObject({
      object: "response",
      status: "completed",
      model: "clerk",
      error: null,
      metadata: { a: "b", deltawire_task: reply.headers.get("x-deltawire-task") },
    });
    expect(itemsOf(response).map(({ type, status }) => [type, status])).toEqual([
      ["reasoning", "completed"],
      ["message", "completed"],
      ["reasoning", "completed"],
      ["message", "completed"],
    ]);
    expect(textsOf(response)).toEqual(["One moment.", "It is noon."]);
    const done = events.flatMap((each) =>
      each["type"] === "response.output_item.done" ? [each["item"]] : [],
    );
    expect(done).toEqual(itemsOf(response));
    const messages = messagesOf(upstream, 1);
    expect(messages[0]).toMatchObject({ content: expect.stringContaining("You are the clerk.") });
    expect(messages.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining("T") });
  });

  test("deltas make the texts", async () => {
    const { gateway } = await office([clock, answers("It is", " noon.")]);
    const events = await eventsOf(await gateway.post("/responses", { ...ask, ...streamed }));
    const joined = new Map<string, string>();
    for (const each of events as { type: string; item_id: string; delta: string }[])
      if (each.type === "response.output_text.delta")
        joined.set(each.item_id, (joined.get(each.item_id) ?? "") + each.delta);
    expect([...joined.values()]).toEqual(["One moment.", "It is noon."]);
  });

  test("on the Chat wire messages and thoughts have a blank line between them, streamed and whole", async () => {
    const { gateway } = await office([
      clock,
      answers("It is", " noon."),
      clock,
      answers("It is", " noon."),
    ]);
    const events = await eventsOf(
      await gateway.post("/chat/completions", {
        ...askChat,
        ...streamed,
        stream_options: { include_usage: true },
      }),
    );
    const choices = events.flatMap(({ choices: each }) => (each ?? []) as ChatChunkChoice[]);
    const said = (field: "content" | "reasoning_content") =>
      choices.reduce((text, { delta }) => text + ((delta?.[field] ?? "") as string), "");
    expect(said("content")).toBe("One moment.\n\nIt is noon.");
    expect(said("reasoning_content")).toBe("I need current_time.\n\nNow I know.");
    expect(choices.at(-1)).toMatchObject({ finish_reason: "stop" });
    expect(JSON.stringify(events)).not.toContain("tool_calls");
    expect(events.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 110, total_tokens: 132 },
    });
    expect(events.at(-1)).toEqual({ done: true });
    const whole = (await (await gateway.post("/chat/completions", askChat)).json()) as JsonObject;
    expect(whole).toMatchObject({
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
  ])("an answer that ended in %s is incomplete, on both wires", async (finish, reason) => {
    const cut: Round = (response) => {
      beginStream(response);
      response.write(event(chunk({ content: "It is alm" })));
      response.end(event(chunk({}, finish)) + event("[DONE]"));
    };
    const { gateway } = await office([clock, cut, cut]);
    const events = await eventsOf(await gateway.post("/responses", { ...ask, ...streamed }));
    expect(typesOf(events).at(-1)).toBe("response.incomplete");
    expect(lastResponse(events)).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason },
      error: null,
    });
    const whole = (await (await gateway.post("/chat/completions", askChat)).json()) as JsonObject;
    expect(whole).toMatchObject({
      choices: [{ finish_reason: finish, message: { content: "It is alm" } }],
    });
    const chunks = await eventsOf(
      await gateway.post("/chat/completions", { ...askChat, ...streamed }),
    );
    const choices = chunks.flatMap(({ choices: each }) => (each ?? []) as ChatChunkChoice[]);
    expect(choices.at(-1)).toMatchObject({ finish_reason: finish });
  });

  test("usage is not sent to a Chat client that did not ask for it", async () => {
    const { gateway } = await office([answers("Hi.")]);
    const events = await eventsOf(
      await gateway.post("/chat/completions", { ...askChat, ...streamed }),
    );
    expect(events.some((each) => "usage" in each)).toBe(false);
  });

  test("what a sub-agent does is not shown, and is paid for", async () => {
    const help = calls("ask_for_help", { name: "aide", prompt: "The time?" }, "I ask the aide.");
    const { gateway } = await office([
      help,
      answers("Noon, says the aide."),
      answers("It is noon."),
    ]);
    const response = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
    expect(textsOf(response)).toEqual(["I ask the aide.", "It is noon."]);
    expect(response["usage"]).toMatchObject({ input_tokens: 120, output_tokens: 22 });
  });

  test("raw reasoning is sent to a client that wants it so", async () => {
    const { gateway } = await office([answers("Hi.")]);
    const headers = { "x-deltawire-reasoning": "text" };
    const events = await eventsOf(
      await gateway.post("/responses", { ...ask, ...streamed }, { headers }),
    );
    expect(typesOf(events)).toContain("response.reasoning_text.delta");
    expect(typesOf(events)).not.toContain("response.reasoning_summary_text.delta");
    expect(itemsOf(lastResponse(events))[0]).toMatchObject({
      summary: [],
      content: [{ type: "reasoning_text", text: "Now I know." }],
    });
  });

  test("a half answer that the model is asked again for is not in the whole", async () => {
    const breaks: Round = (response) => {
      beginStream(response);
      response.write(event(chunk({ content: "It is ele" })));
      setTimeout(() => response.destroy(), 20);
    };
    const { gateway } = await office([
      breaks,
      answers("It is noon."),
      breaks,
      answers("It is noon."),
    ]);
    const events = await eventsOf(await gateway.post("/responses", { ...ask, ...streamed }));
    expect(textsOf(lastResponse(events))).toEqual(["It is noon."]);
    const cut = events.find(
      (each) =>
        each["type"] === "response.output_item.done" &&
        (each["item"] as JsonObject)["status"] === "incomplete",
    );
    expect(cut).toMatchObject({ item: { content: [{ text: "It is ele" }] } });
    const whole = (await (await gateway.post("/chat/completions", askChat)).json()) as JsonObject;
    expect(whole).toMatchObject({ choices: [{ message: { content: "It is noon." } }] });
  });

  test("pictures and what was said before reach its model", async () => {
    const { gateway, upstream } = await office([answers("A dot.")]);
    const picture = `data:image/png;base64,${Buffer.from("a picture").toString("base64")}`;
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
            { type: "image_url", image_url: { url: picture } },
          ],
        },
      ],
    });
    expect(reply.status).toBe(200);
    const messages = messagesOf(upstream, 0);
    expect(JSON.stringify(messages)).toContain("Speak plainly.");
    expect(messages.at(-2)).toMatchObject({ role: "assistant", content: "Hello [^1]." });
    expect(messages.at(-1)).toMatchObject({
      role: "user",
      content: [{ text: "What is this?" }, { image_url: { url: picture } }],
    });
  });

  test("a reply is gone on from by its id", async () => {
    const { gateway, upstream } = await office([answers("Noon.")]);
    const first = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
    const next = { model: "clerk", input: "Sure?", previous_response_id: first["id"] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    const messages = messagesOf(upstream, 1);
    expect(messages.slice(1).map(({ role, content }) => [role, content])).toEqual([
      ["user", "What time is it?"],
      ["assistant", "Noon."],
      ["user", "Sure?"],
    ]);
    const lost = { ...next, previous_response_id: "resp_unknown" };
    expect((await gateway.post("/responses", lost)).status).toBe(400);
  });
});

describe("what an agent cannot do is refused", () => {
  test.each([
    ["/chat/completions", { ...askChat, n: 2 }, "n"],
    [
      "/chat/completions",
      { ...askChat, response_format: { type: "json_object" } },
      "response_format",
    ],
    ["/responses", { ...ask, text: { format: { type: "json_object" } } }, "text.format"],
    ["/responses", { ...ask, tool_choice: "required", tools: [] }, "tool_choice"],
    ["/responses", { model: "clerk", input: [] }, "input"],
    [
      "/responses",
      {
        model: "clerk",
        input: [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }],
      },
      "file_id",
    ],
  ])("%s %j: %s", async (path, body, param) => {
    const { gateway, upstream } = await office([answers("Hi.")]);
    const reply = await gateway.post(path, body);
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { error: { code: "invalid_request", param } },
    ]);
    expect(upstream.requests).toEqual([]);
    expect(await tasksOf(gateway)).toEqual([]);
  });
});

test("a model that refuses is told on: as a failed response, and with its status to a Chat client", async () => {
  const refuses: Round = (response) =>
    refuse(response, 400, {
      message: "maximum context length is 10 tokens",
      code: "context_length_exceeded",
    });
  const { gateway } = await office([refuses]);
  const response = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
  expect(response).toMatchObject({ status: "failed", error: { code: "context_length_exceeded" } });
  const whole = await gateway.post("/chat/completions", askChat);
  expect([whole.status, await whole.json()]).toMatchObject([
    400,
    { error: { code: "context_length_exceeded" } },
  ]);
  const events = await eventsOf(
    await gateway.post("/chat/completions", { ...askChat, ...streamed }),
  );
  expect(events.at(-1)).toMatchObject({ error: { code: "context_length_exceeded" } });
});

test("the log tells who was asked and what it cost", async () => {
  const { gateway } = await office([clock, answers("Noon.")]);
  await (await gateway.post("/responses", ask)).json();
  await until("it is logged", () => gateway.lines.length > 0);
  expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
    model: "clerk",
    status: 200,
    tokens_in: 110,
    tokens_out: 21,
  });
});
