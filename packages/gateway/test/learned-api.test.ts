import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents } from "./test-gateway.ts";
import { gatewayFixture, hello, helloChat } from "./gateway-fixture.ts";
import { sendError, type ReceivedRequest, type UpstreamScript } from "./scripted-upstream.ts";
import { sendReply } from "./wire-replies.ts";

/* The API is chosen for each model of an upstream: some models refuse tools or everything over Chat. */

const parameters = { type: "object", properties: {} };
const reasoned = { ...hello, reasoning: { effort: "high" } };
const withTools = { ...reasoned, tools: [{ type: "function", name: "look", parameters }] };
const chatWithTools = {
  ...helloChat,
  reasoning_effort: "high",
  tools: [{ type: "function", function: { name: "look", parameters } }],
};

const refusal =
  "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";

/** Refuses tools with an effort over Chat. Without Responses, that endpoint is not found. */
function strictModel(hasResponses = true): UpstreamScript {
  return ({ path, body }, response) => {
    const isChat = path.endsWith("/chat/completions");
    if (!isChat && !hasResponses) return sendError(response, 404, { message: "Not Found" });
    if (isChat && body["tools"] !== undefined && body["reasoning_effort"] !== "none")
      return sendError(response, 400, { message: refusal, param: "reasoning_effort" });
    return sendReply(isChat ? "chat" : "responses", response, body, { text: ["fine"] });
  };
}

const getPaths = (requests: readonly ReceivedRequest[]) =>
  requests.map(({ path }) => path.replace("/v1", ""));
const [chat, responses] = ["/chat/completions", "/responses"];

async function listLessonCodes(url: string): Promise<unknown[]> {
  const reply = await fetch(`${url}/deltawire/lessons`);
  return ((await reply.json()) as { lessons: JsonObject[] }).lessons.map(({ code }) => code);
}

/** Returns what the status reports about the only upstream. */
async function fetchStatus(url: string): Promise<JsonObject | undefined> {
  const reply = await fetch(`${url}/deltawire/upstreams`);
  return ((await reply.json()) as { upstreams: JsonObject[] }).upstreams[0];
}

describe("a model whose Chat API refuses tools and names the Responses API", () => {
  test("gets the same request over Responses, with its effort, and so all later ones", async () => {
    const { gateway, upstream } = await gatewayFixture(strictModel());
    const events = await readEvents(await gateway.post("/responses", withTools));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    expect(getPaths(upstream.requests)).toEqual([chat, responses]);
    expect(upstream.requests[1]?.body).toMatchObject({
      reasoning: { effort: "high" },
      tools: [{ type: "function", name: "look" }],
    });
    await (await gateway.post("/responses", reasoned)).text();
    await (await gateway.post("/responses", { ...reasoned, model: "up/other" })).text();
    expect(getPaths(upstream.requests).slice(2)).toEqual([responses, chat]);
    expect(await listLessonCodes(gateway.url)).toEqual(["responses_api"]);
    expect(await fetchStatus(gateway.url)).toMatchObject({
      speaks: "chat",
      learned_apis: [{ model: "m", speaks: "responses" }],
    });
    expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({ lessons: ["responses_api"] });
  });

  test("also gets the requests of Chat clients over Responses", async () => {
    const { gateway, upstream } = await gatewayFixture(strictModel());
    for (const n of [1, 2]) {
      const text = await (await gateway.post("/chat/completions", { ...chatWithTools, n })).text();
      expect(text).toContain("fine");
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    }
    expect(getPaths(upstream.requests)).toEqual([chat, responses, responses, responses]);
    expect(upstream.requests[1]?.body).toMatchObject({ reasoning: { effort: "high" } });
  });

  test("gets the encrypted reasoning of its calls back from clients that drop it, in their conversation", async () => {
    const { gateway, upstream } = await gatewayFixture(({ path, body }, response) => {
      if (path.endsWith("/chat/completions"))
        return sendError(response, 400, { message: refusal, param: "reasoning_effort" });
      const calls = [{ id: "call_look01", name: "look", arguments: ["{}"] }];
      return sendReply("responses", response, body, { reasoning: ["hm"], sealed: "gAAAA1", calls });
    });
    for (const stream of [true, false]) {
      const question = { role: "user", content: `Look, ${String(stream)}!` };
      const first = { ...chatWithTools, stream, messages: [question] };
      await (await gateway.post("/chat/completions", first)).text();
      const call = {
        id: "call_look01",
        type: "function",
        function: { name: "look", arguments: "{}" },
      };
      const history = (opening: JsonObject) => [
        { role: "system", content: "A new date." },
        opening,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_look01", content: "a wall" },
      ];
      const next = (opening: JsonObject) =>
        gateway.post("/chat/completions", { ...first, messages: history(opening) });
      await (await next(question)).text();
      expect(upstream.requests.at(-1)?.body["input"]).toMatchObject([
        { role: "system" },
        { role: "user" },
        { type: "reasoning", encrypted_content: "gAAAA1", summary: [] },
        { type: "function_call", call_id: "call_look01" },
        { type: "function_call_output" },
      ]);
      await (await next({ role: "user", content: "Another conversation" })).text();
      expect(JSON.stringify(upstream.requests.at(-1)?.body)).not.toContain("gAAAA1");
    }
  });

  test("gets a lower effort over Chat if the server does not have the Responses API", async () => {
    const { gateway, upstream } = await gatewayFixture(strictModel(false));
    for (const _ of [1, 2]) expect((await gateway.post("/responses", withTools)).status).toBe(200);
    expect(getPaths(upstream.requests)).toEqual([chat, responses, chat, chat, chat, chat]);
    expect(upstream.requests.at(-1)?.body).toMatchObject({ reasoning_effort: "none" });
    expect(await fetchStatus(gateway.url)).toMatchObject({ learned_apis: [] });
    expect(await listLessonCodes(gateway.url)).toEqual(["chat_api"]);
  });

  test("continues a stored response that came over Chat", async () => {
    const { gateway, upstream } = await gatewayFixture(strictModel());
    const [created] = await readEvents(await gateway.post("/responses", reasoned));
    const { id: previous_response_id } = (created ?? {})["response"] as JsonObject;
    const next = { ...withTools, input: "And now?", previous_response_id };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    expect(getPaths(upstream.requests)).toEqual([chat, chat, responses]);
    const { body } = upstream.requests[2] ?? {};
    expect(body?.["previous_response_id"]).toBeUndefined();
    expect(body?.["input"]).toMatchObject([
      { role: "user", content: "Hello" },
      { role: "assistant", content: [{ text: "fine" }] },
      { role: "user", content: "And now?" },
    ]);
  });
});

describe('with speaks = "auto"', () => {
  test("a server without the Chat API gets requests over Responses", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ path, body }, response) =>
        path.endsWith("/responses")
          ? sendReply("responses", response, body, { text: ["fine"] })
          : sendError(response, 404, { message: "Not Found" }),
      { upstream: { speaks: "auto" } },
    );
    for (const _ of [1, 2]) expect((await gateway.post("/responses", hello)).status).toBe(200);
    expect(getPaths(upstream.requests)).toEqual([chat, responses, responses]);
  });

  test("an unknown model is an error after one request", async () => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) =>
        sendError(response, 404, {
          message: "The model `m` does not exist",
          code: "model_not_found",
        }),
      { upstream: { speaks: "auto" } },
    );
    expect((await gateway.post("/responses", hello)).status).toBe(404);
    expect(getPaths(upstream.requests)).toEqual([chat]);
  });
});

test('with speaks = "chat", a missing Chat API is an error', async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) =>
    sendError(response, 404, { message: "Not Found" }),
  );
  expect((await gateway.post("/responses", hello)).status).toBe(404);
  expect(getPaths(upstream.requests)).toEqual([chat]);
});
