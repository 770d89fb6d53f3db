import { describe, expect, test } from "vitest";
import {
  gatewayFixture as startFixture,
  testGateway,
  testUpstream as startUpstream,
} from "./gateway-fixture.ts";
import type { ReceivedRequest, UpstreamScript } from "./scripted-upstream.ts";
import { upstreamToml } from "./test-gateway.ts";

/* A client of the Messages API on upstreams of each API. ../shared/messages has many more cases: `npm run check:messages`. */

const chatText = [
  `data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n`,
  `data: {"id":"c1","choices":[{"index":0,"delta":{"content":" there"},"finish_reason":"stop"}]}\n\n`,
  `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}\n\n`,
  "data: [DONE]\n\n",
];

const messagesText = [
  `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}\n\n`,
  `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n`,
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi there"}}\n\n`,
  `event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n`,
  `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}\n\n`,
  `event: message_stop\ndata: {"type":"message_stop"}\n\n`,
];

/** The same as a client receives it: with the name of the model that it requested. */
const forwardedText = messagesText.join("").replace(`"model":"m"`, `"model":"up/m"`);

/** A reply of the upstream: a stream, or JSON with a status. */
type Reply = { sse: readonly string[] } | { status?: number; json: object };

const toScript =
  (reply: Reply | ((request: ReceivedRequest) => Reply)): UpstreamScript =>
  (request, response) => {
    const chosen = typeof reply === "function" ? reply(request) : reply;
    if ("sse" in chosen) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(chosen.sse.join(""));
    } else {
      response.writeHead(chosen.status ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(chosen.json));
    }
  };

const gatewayFixture = (
  reply: Parameters<typeof toScript>[0],
  options?: Parameters<typeof startFixture>[1],
) => startFixture(toScript(reply), options);

const hello = {
  model: "up/m",
  max_tokens: 100,
  messages: [{ role: "user", content: "Hello" }],
};

const post = (url: string, body: unknown, headers: Record<string, string> = {}, path = "") =>
  fetch(`${url}/v1/messages${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const readEvents = async (response: Response) =>
  (await response.text())
    .split("\n\n")
    .filter((text) => text !== "")
    .map((text) => /^event: (\w+)\n/.exec(text)?.[1]);

describe("a Messages client", () => {
  test("gets the name of the model that it requested, as Claude Code requires to keep reasoning", async () => {
    const { gateway } = await gatewayFixture({ sse: chatText });
    const response = await post(gateway.url, { ...hello, stream: true });
    expect(await response.text()).toMatch(/"role":"assistant","model":"up\/m"/);
    expect(await (await post(gateway.url, hello)).json()).toMatchObject({ model: "up/m" });
  });

  test("is served by a Chat upstream with a stream, whatever the query string is", async () => {
    const { gateway, upstream } = await gatewayFixture({ sse: chatText });
    const response = await post(gateway.url, { ...hello, stream: true }, {}, "?beta=true&x=1");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("request-id")).toMatch(/^req_/);
    expect((await readEvents(response)).filter((type) => type !== "ping")).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(upstream.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "m", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] },
    });
  });

  test("is served with a complete reply if it does not stream", async () => {
    const { gateway } = await gatewayFixture({
      json: {
        id: "c1",
        object: "chat.completion",
        choices: [
          { index: 0, message: { role: "assistant", content: "Hi there" }, finish_reason: "stop" },
        ],
        usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
      },
    });
    const response = await post(gateway.url, hello);
    expect(await response.json()).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Hi there" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 2 },
    });
  });

  test("gets the bytes of a Messages upstream with its own name of the model, which receives its headers, but not its key", async () => {
    const { gateway, upstream } = await gatewayFixture(
      { sse: messagesText },
      { upstream: { speaks: "messages", profile: "anthropic" } },
    );
    const headers = {
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "effort-2025-11-24",
      "x-api-key": "token-of-the-client",
    };
    const body = { ...hello, stream: true, context_management: { edits: [] }, future_field: 1 };
    const response = await post(gateway.url, body, headers);
    expect(await response.text()).toBe(forwardedText);
    expect(upstream.requests[0]).toMatchObject({
      path: "/v1/messages",
      body: { ...body, model: "m" },
      headers: {
        "anthropic-version": "2026-10-21",
        "anthropic-beta": "effort-2025-11-24",
        "x-api-key": "key-of-up-0123456789",
      },
    });
    expect(upstream.requests[0]?.headers["authorization"]).toBeUndefined();
  });

  test("keeps its beta features if the configuration adds some", async () => {
    const upstream = await startUpstream(toScript({ sse: messagesText }));
    const gateway = await testGateway(
      `${upstreamToml("up", upstream.url, { speaks: "messages" })}
[upstreams.up.headers]
anthropic-beta = "configured-1"
anthropic-version = "2026-10-21"`,
    );
    const headers = { "anthropic-beta": "a-1,b-2", "anthropic-version": "2023-06-01" };
    await (await post(gateway.url, hello, headers)).text();
    await (await post(gateway.url, hello)).text();
    expect(
      upstream.requests.map((request) => [
        request.headers["anthropic-beta"],
        request.headers["anthropic-version"],
      ]),
    ).toEqual([
      ["a-1,b-2,configured-1", "2026-10-21"],
      ["configured-1", "2026-10-21"],
    ]);
  });

  test.each(["chat", "messages"])(
    "gets 529 from an overloaded %s upstream, after which Claude Code uses its fallback model",
    async (speaks) => {
      const error = { type: "overloaded_error", message: "Overloaded" };
      const { gateway } = await gatewayFixture(
        { status: 529, json: { type: "error", error } },
        { upstream: { speaks, retries: 0 } },
      );
      const response = await post(gateway.url, { ...hello, stream: true });
      expect([response.status, await response.json()]).toMatchObject([
        529,
        { error: { type: "overloaded_error" } },
      ]);
    },
  );

  test("gets errors in the form of its API, with the provider's words", async () => {
    const message = "This model does not support the effort parameter.";
    const { gateway } = await gatewayFixture(
      { status: 400, json: { type: "error", error: { type: "invalid_request_error", message } } },
      { upstream: { speaks: "messages" } },
    );
    const response = await post(gateway.url, hello);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      type: "error",
      error: { type: "invalid_request_error", message },
      request_id: response.headers.get("request-id"),
    });
  });

  test("gets an error for a prompt that is too long with the words after which Claude Code compacts", async () => {
    const message =
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.";
    const { gateway } = await gatewayFixture({
      status: 400,
      json: { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } },
    });
    const response = await post(gateway.url, { ...hello, stream: true });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          type: "invalid_request_error",
          message: "prompt is too long: 9000 tokens > 8192 maximum",
        },
      },
    ]);
  });

  test.each([
    ["image", "image_block", "this model does not support image input"],
    ["document", "document_block", "Invalid content type: file is not supported"],
  ])(
    "gets the words after which Claude Code omits a block of type %s",
    async (type, words, message) => {
      const { gateway } = await gatewayFixture({ status: 400, json: { error: { message } } });
      const source = { type: "base64", media_type: "image/png", data: "aGk=" };
      const ask = async (content: unknown) => {
        const response = await post(gateway.url, {
          ...hello,
          messages: [{ role: "user", content }],
        });
        const { error } = (await response.json()) as { error: { message: string } };
        return [response.status, error.message, response.headers.get("x-deltawire-error")];
      };
      const media = type === "image" ? source : { ...source, media_type: "application/pdf" };
      const blocks = [
        { type, source: media },
        { type: "text", text: "What is it?" },
      ];
      expect(await ask(blocks)).toEqual([
        400,
        `capability_rejected: ${words}`,
        expect.stringContaining(message),
      ]);
      expect(await ask("What is it?")).toEqual([400, message, null]);
    },
  );

  test("gets these words for the status 500 of llama.cpp too, but not because a model has such a name", async () => {
    const ask = async (status: number, message: string) => {
      const { gateway } = await gatewayFixture(
        { status, json: { error: { message } } },
        { upstream: { retries: 0 } },
      );
      const source = { type: "base64", media_type: "image/png", data: "aGk=" };
      const content = [{ type: "image", source }];
      const response = await post(gateway.url, { ...hello, messages: [{ role: "user", content }] });
      const { error } = (await response.json()) as { error: { message: string } };
      return [response.status, error.message];
    };
    const hint = "you may need to provide the mmproj";
    expect(await ask(500, `image input is not supported - hint: ${hint}`)).toEqual([
      400,
      "capability_rejected: image_block",
    ]);
    const message = "tools are not supported by gpt-4-vision-preview";
    expect(await ask(400, message)).toEqual([400, message]);
  });

  test("gets the cause of OpenRouter's errors, with the words after which Claude Code compacts", async () => {
    const ask = async (cause: string) => {
      const { gateway } = await gatewayFixture({
        status: 400,
        json: {
          error: { message: "Provider returned error", code: 400, metadata: { raw: cause } },
        },
      });
      const { error } = (await (await post(gateway.url, hello)).json()) as {
        error: { message: string };
      };
      return error.message;
    };
    expect(
      await ask("maximum context length is 8192 tokens, however you requested 9000 tokens"),
    ).toBe("prompt is too long: 9000 tokens > 8192 maximum");
    expect(await ask("bad schema")).toBe("Provider returned error: bad schema");
  });

  test("may change to a model of another provider, which never gets the thinking of the first one", async () => {
    const chat = await startUpstream(
      toScript({
        sse: [
          `data: {"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"Secret thought."}}]}\n\n`,
          ...chatText,
        ],
      }),
    );
    const messages = await startUpstream(toScript({ sse: messagesText }));
    const gateway = await testGateway(
      upstreamToml("up", chat.url, { profile: "deepseek" }) +
        upstreamToml("other", messages.url, { speaks: "messages" }),
    );
    const first = (await (await post(gateway.url, hello)).json()) as {
      content: { type: string; signature?: string }[];
    };
    const [thinking] = first.content;
    expect(thinking).toMatchObject({ type: "thinking", thinking: "Secret thought." });
    expect(thinking?.signature).toBeTypeOf("string");
    const history = [
      ...hello.messages,
      { role: "assistant", content: first.content },
      { role: "user", content: "And?" },
    ];
    for (const model of ["other/m", "up/m"])
      expect((await post(gateway.url, { ...hello, model, messages: history })).status).toBe(200);
    const count = { model: "other/m", messages: history };
    expect((await post(gateway.url, count, {}, "/count_tokens")).status).toBe(200);
    expect(messages.requests).toHaveLength(2);
    for (const { body } of messages.requests)
      expect(JSON.stringify(body)).not.toMatch(/Secret thought|thinking/);
    expect(chat.requests[1]?.body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", reasoning_content: "Secret thought." },
      { role: "user" },
    ]);
  });

  test("that drops the thinking before its calls has it restored, in its own conversation only", async () => {
    const call = { index: 0, id: "call_0", function: { name: "f", arguments: "{}" } };
    const { gateway, upstream } = await gatewayFixture(
      {
        sse: [
          { reasoning_content: "Secret thought." },
          { tool_calls: [{ ...call, type: "function" }] },
        ]
          .map(
            (delta) => `data: ${JSON.stringify({ id: "c1", choices: [{ index: 0, delta }] })}\n\n`,
          )
          .concat(
            `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n`,
            "data: [DONE]\n\n",
          ),
      },
      { upstream: { profile: "deepseek" } },
    );
    const tools = [{ name: "f", input_schema: { type: "object" } }];
    const first = await post(gateway.url, { ...hello, tools });
    const { content } = (await first.json()) as { content: { type: string; id?: string }[] };
    const calls = content.filter(({ type }) => type === "tool_use");
    const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "r" }));
    const ask = async (text: string) => {
      const messages = [
        { role: "user", content: text },
        { role: "assistant", content: calls },
        { role: "user", content: results },
      ];
      // A field that the Responses API does not have.
      const body = { ...hello, tools, messages, stop_sequences: ["END"] };
      const reply = await (await post(gateway.url, body)).json();
      expect(reply).toMatchObject({ type: "message", stop_reason: "tool_use" });
      const sent = upstream.requests.at(-1)?.body["messages"] as { reasoning_content?: string }[];
      return sent[1]?.reasoning_content;
    };
    expect(await ask("Hello")).toBe("Secret thought.");
    expect(await ask("Another question")).not.toBe("Secret thought.");
  });

  test("gets a 404 as not_found_error, also if the upstream has OpenAI's type for it", async () => {
    const { gateway } = await gatewayFixture({
      status: 404,
      json: { error: { message: "The model `m` does not exist", type: "invalid_request_error" } },
    });
    const response = await post(gateway.url, hello);
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { type: "not_found_error", message: "The model `m` does not exist" } },
    ]);
  });

  test("is asked not to retry what only the user can fix", async () => {
    const { gateway } = await gatewayFixture({
      status: 401,
      json: { error: { message: "invalid key", type: "authentication_error" } },
    });
    const response = await post(gateway.url, hello);
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([401, "false"]);
    expect(await response.json()).toMatchObject({ error: { type: "authentication_error" } });
  });

  test.each([
    [{ ...hello, max_tokens: undefined }, "max_tokens: Field required"],
    [{ ...hello, model: undefined }, "model: expected the name of a model"],
    [{ ...hello, messages: [] }, "messages: "],
  ])("gets a 400 for %j", async (body, message) => {
    const { gateway } = await gatewayFixture({ sse: chatText });
    const response = await post(gateway.url, body);
    const reply = (await response.json()) as { type: string; error: { message: string } };
    expect([response.status, reply.type]).toEqual([400, "error"]);
    expect(reply.error.message).toContain(message);
  });

  test("can use an agent as its model", async () => {
    const gateway = await testGateway("[server]\nport = 0\ndemo = true\n");
    const response = await post(gateway.url, { ...hello, model: "demo-agent" });
    expect(await response.json()).toMatchObject({
      type: "message",
      model: "demo-agent",
      stop_reason: "end_turn",
      content: expect.arrayContaining([expect.objectContaining({ type: "text" })]),
    });
    const stream = await post(gateway.url, { ...hello, model: "demo-agent", stream: true });
    const types = await readEvents(stream);
    expect([types[0], types.at(-1)]).toEqual(["message_start", "message_stop"]);
  });
});

describe("a count of tokens", () => {
  const { max_tokens: _maxTokens, ...request } = hello;

  test("is an estimate, labeled as one, on other upstreams", async () => {
    const { gateway, upstream } = await gatewayFixture({ sse: chatText });
    const response = await post(gateway.url, request, {}, "/count_tokens?beta=true");
    const count = (await response.json()) as { input_tokens: number };
    expect(count).toEqual({ input_tokens: expect.any(Number), estimated: true });
    expect(count.input_tokens).toBeGreaterThan(0);
    expect(upstream.requests).toEqual([]);
  });

  test("comes from a Messages upstream, if that can count", async () => {
    const { gateway, upstream } = await gatewayFixture(
      { json: { input_tokens: 4711 } },
      { upstream: { speaks: "messages" } },
    );
    const response = await post(gateway.url, request, {}, "/count_tokens");
    expect(await response.json()).toEqual({ input_tokens: 4711 });
    expect(upstream.requests[0]).toMatchObject({
      path: "/v1/messages/count_tokens",
      body: { ...request, model: "m" },
    });
  });

  test.each([404, 429, 500])(
    "is estimated if a Messages upstream cannot count (%i), which still serves the model",
    async (status) => {
      const { gateway } = await gatewayFixture(
        ({ path }) =>
          path.endsWith("/count_tokens")
            ? { status, json: { type: "error", error: { type: "api_error", message: "no" } } }
            : { sse: messagesText },
        { upstream: { speaks: "messages" } },
      );
      const counts = await Promise.all(
        Array.from({ length: 22 }, () => post(gateway.url, request, {}, "/count_tokens")),
      );
      for (const response of counts)
        expect([response.status, await response.json()]).toMatchObject([200, { estimated: true }]);
      expect((await post(gateway.url, hello)).status).toBe(200);
    },
  );

  test("fails with the error of a Messages upstream that rejects the request", async () => {
    const error = { type: "invalid_request_error", message: "messages: first must be user" };
    const { gateway } = await gatewayFixture(
      { status: 400, json: { type: "error", error } },
      { upstream: { speaks: "messages" } },
    );
    const response = await post(gateway.url, request, {}, "/count_tokens");
    expect([response.status, await response.json()]).toMatchObject([400, { error }]);
  });
});

describe("a Messages upstream", () => {
  test("serves a Chat and a Responses client", async () => {
    const { gateway, upstream } = await gatewayFixture(
      { sse: messagesText },
      { upstream: { speaks: "messages" } },
    );
    const chat = await gateway.post("/chat/completions", {
      model: "up/m",
      stream: true,
      messages: hello.messages,
    });
    expect(await chat.text()).toContain(`"content":"Hi there"`);
    const responses = await gateway.post("/responses", {
      model: "up/m",
      stream: true,
      input: "Hello",
    });
    expect(await responses.text()).toContain("response.completed");
    for (const { path, headers } of upstream.requests)
      expect([path, headers["anthropic-version"], headers["authorization"]]).toEqual([
        "/v1/messages",
        "2023-06-01",
        "Bearer key-of-up-0123456789",
      ]);
  });

  describe("that pauses its turn", () => {
    const search = {
      type: "server_tool_use",
      id: "srv_1",
      name: "web_search",
      input: { query: "x" },
    };
    const paused = [
      messagesText[0] ?? "",
      `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n`,
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Searching. "}}\n\n`,
      `event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n`,
      `event: content_block_start\ndata: ${JSON.stringify({ type: "content_block_start", index: 1, content_block: search })}\n\n`,
      `event: content_block_stop\ndata: {"type":"content_block_stop","index":1}\n\n`,
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"pause_turn","stop_sequence":null},"usage":{"output_tokens":3}}\n\n`,
      messagesText.at(-1) ?? "",
    ];
    const isContinuation = ({ body }: ReceivedRequest) =>
      (body["messages"] as { role: string }[]).at(-1)?.role === "assistant";
    const chat = { model: "up/m", messages: hello.messages };

    test.each([true, false])("is continued in the same reply (stream: %s)", async (stream) => {
      const { gateway, upstream } = await gatewayFixture(
        (request) => ({ sse: isContinuation(request) ? messagesText : paused }),
        { upstream: { speaks: "messages" } },
      );
      const response = await gateway.post("/chat/completions", { ...chat, stream });
      const text = await response.text();
      for (const part of ["Searching. ", "Hi there"]) expect(text).toContain(part);
      expect(text.match(/"finish_reason":"stop"/g)).toHaveLength(1);
      expect(upstream.requests).toHaveLength(2);
      expect(upstream.requests[1]?.body["messages"]).toEqual([
        ...hello.messages.map(({ role }) => expect.objectContaining({ role })),
        { role: "assistant", content: [{ type: "text", text: "Searching. " }, search] },
      ]);
    });

    test.each([true, false])(
      "is continued if each part is complete JSON (stream: %s)",
      async (stream) => {
        const toMessage = (content: object[], stop: string) => ({
          json: {
            id: "msg_1",
            type: "message",
            role: "assistant",
            model: "m",
            content,
            stop_reason: stop,
            stop_sequence: null,
            usage: { input_tokens: 9, output_tokens: 2 },
          },
        });
        const { gateway } = await gatewayFixture(
          (request) =>
            isContinuation(request)
              ? toMessage([{ type: "text", text: "Hi there" }], "end_turn")
              : toMessage([{ type: "text", text: "Searching. " }, search], "pause_turn"),
          { upstream: { speaks: "messages" } },
        );
        const text = await (await gateway.post("/chat/completions", { ...chat, stream })).text();
        for (const part of ["Searching. ", "Hi there"]) expect(text).toContain(part);
        expect(text.match(/"finish_reason":"stop"/g)).toHaveLength(1);
      },
    );

    test("is continued at most five times, and then incomplete", async () => {
      const { gateway, upstream } = await gatewayFixture(
        { sse: paused },
        {
          upstream: { speaks: "messages" },
        },
      );
      const response = await gateway.post("/responses", { model: "up/m", input: "Hello" });
      expect(await response.json()).toMatchObject({ status: "incomplete" });
      expect(upstream.requests).toHaveLength(6);
    });

    test("fails with the error of the upstream if the rest is refused", async () => {
      const { gateway } = await gatewayFixture(
        (request) =>
          isContinuation(request)
            ? {
                status: 529,
                json: { type: "error", error: { type: "overloaded_error", message: "busy" } },
              }
            : { sse: paused },
        { upstream: { speaks: "messages" } },
      );
      const response = await gateway.post("/chat/completions", { ...chat, stream: true });
      const text = await response.text();
      expect(text).toContain("Searching. ");
      expect(text).toContain("busy");
      expect(text).not.toContain('"finish_reason":"stop"');
    });
  });

  test("is the model of an agent", async () => {
    const { gateway, upstream } = await gatewayFixture(
      { sse: messagesText },
      {
        upstream: { speaks: "messages" },
        toml: '[agents.helper]\nmodel = "up/m"\ntool_groups = ["time"]',
      },
    );
    const reply = await gateway.post("/responses", { model: "helper", input: "Hello" });
    expect(await reply.json()).toMatchObject({
      status: "completed",
      output: [{ type: "message", content: [{ text: "Hi there" }] }],
    });
    expect(upstream.requests[0]?.body).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ input_schema: expect.anything() })]),
    });
  });

  test("teaches the limit of output tokens, which every client then gets", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ body }) =>
        (body as { max_tokens: number }).max_tokens > 8192
          ? {
              status: 400,
              json: {
                type: "error",
                error: {
                  type: "invalid_request_error",
                  message: "max_tokens: 32000 > 8192, which is the maximum allowed for m",
                },
              },
            }
          : { sse: messagesText },
      { upstream: { speaks: "messages" } },
    );
    for (let turn = 0; turn < 2; turn += 1) {
      const response = await post(gateway.url, { ...hello, max_tokens: 32_000, stream: true });
      expect(await response.text()).toBe(forwardedText);
    }
    expect(
      upstream.requests.map(({ body }) => (body as { max_tokens: number }).max_tokens),
    ).toEqual([32_000, 8192, 8192]);
  });

  test.each([
    [8192, { type: "enabled", budget_tokens: 6553 }],
    [1000, { type: "disabled" }],
  ])("with a limit of %i output tokens gets a valid thinking budget", async (limit, thinking) => {
    const { gateway, upstream } = await gatewayFixture(
      { sse: messagesText },
      {
        upstream: { speaks: "messages" },
        toml: `[models]\nlimited = { use = "up/m", max_output_tokens = ${limit} }`,
      },
    );
    const requested = { type: "enabled", budget_tokens: 31_999 };
    const body = { ...hello, model: "limited", max_tokens: 32_000, thinking: requested };
    await (await post(gateway.url, body)).text();
    expect(upstream.requests[0]?.body).toMatchObject({ max_tokens: limit, thinking });
  });

  test("lists its models, for which Anthropic requires a version", async () => {
    const upstream = await startUpstream(toScript({ sse: messagesText }), {
      listModels: (response) => {
        const isComplete = response.req.headers["anthropic-version"] === "2023-06-01";
        response.statusCode = isComplete ? 200 : 400;
        response.end(JSON.stringify({ data: [{ type: "model", id: "claude-x" }] }));
      },
    });
    const gateway = await testGateway(
      `[upstreams.anthropic]
base_url = "${upstream.url}"
speaks = "messages"`,
    );
    const list = (await (await fetch(`${gateway.url}/v1/models`)).json()) as {
      data: { id: string }[];
    };
    expect(list.data.map(({ id }) => id)).toContain("claude-x");
  });

  test("asks for its own thinking again without the signatures of another one", async () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "of-another-provider" };
    const { gateway, upstream } = await gatewayFixture(
      ({ body }) =>
        JSON.stringify(body).includes("of-another-provider")
          ? {
              status: 400,
              json: {
                type: "error",
                error: {
                  type: "invalid_request_error",
                  message: "messages.1.content.0: Invalid `signature` in `thinking` block",
                },
              },
            }
          : { sse: messagesText },
      { upstream: { speaks: "messages" } },
    );
    const messages = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: [thinking, { type: "text", text: "Hi" }] },
      { role: "user", content: "And?" },
    ];
    const response = await post(gateway.url, { ...hello, messages, stream: true });
    expect(await response.text()).toBe(forwardedText);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("speaks = auto", () => {
  const serve =
    (paths: Readonly<Record<string, string[] | undefined>>) =>
    ({ path }: ReceivedRequest): Reply => {
      const sse = paths[path];
      return sse === undefined ? { status: 404, json: { detail: "Not Found" } } : { sse };
    };

  test.each([
    ["only Chat", { "/v1/chat/completions": chatText }, ["/v1/messages", "/v1/chat/completions"]],
    ["Messages", { "/v1/messages": messagesText }, ["/v1/messages"]],
  ])("finds the API of a server with %s for a Messages client", async (_name, paths, expected) => {
    const { gateway, upstream } = await gatewayFixture(serve(paths), {
      upstream: { speaks: "auto" },
    });
    const first = await post(gateway.url, { ...hello, stream: true });
    expect(await readEvents(first)).toContain("message_stop");
    expect(upstream.requests.map(({ path }) => path)).toEqual(expected);
    upstream.requests.length = 0;
    await (await post(gateway.url, { ...hello, stream: true })).text();
    expect(upstream.requests.map(({ path }) => path)).toEqual(expected.slice(-1));
  });

  test("finds Messages for a Chat client, after Chat and Responses", async () => {
    const { gateway, upstream } = await gatewayFixture(serve({ "/v1/messages": messagesText }), {
      upstream: { speaks: "auto" },
    });
    const request = { model: "up/m", stream: true, messages: hello.messages };
    expect(await (await gateway.post("/chat/completions", request)).text()).toContain("Hi there");
    expect(await (await gateway.post("/chat/completions", request)).text()).toContain("Hi there");
    expect(upstream.requests.map(({ path }) => path)).toEqual([
      "/v1/chat/completions",
      "/v1/responses",
      "/v1/messages",
      "/v1/messages",
    ]);
  });
});

describe("names of models", () => {
  test("match patterns of [models], the most specific one first", async () => {
    const upstream = await startUpstream(toScript({ sse: chatText }));
    const gateway = await testGateway(`
[models]
"claude-*" = "up/large"
"claude-*haiku*" = { use = "up/small", max_output_tokens = 50 }
exact = "up/exact"
${upstreamToml("up", upstream.url, { models: ["listed"] })}`);
    const sent = async (model: string) => {
      upstream.requests.length = 0;
      await (await post(gateway.url, { ...hello, model })).text();
      const body = upstream.requests[0]?.body as
        | { model?: string; max_tokens?: number }
        | undefined;
      return [body?.model, body?.max_tokens];
    };
    expect(await sent("claude-sonnet-5-5")).toEqual(["large", 100]);
    expect(await sent("claude-haiku-4-5-20251001")).toEqual(["small", 50]);
    expect(await sent("exact")).toEqual(["exact", 100]);
    expect(await sent("up/claude-x")).toEqual(["claude-x", 100]);
    expect(await sent("listed")).toEqual(["listed", 100]);
    const list = (await (await fetch(`${gateway.url}/v1/models?limit=1000`)).json()) as {
      data: { id: string; type: string; display_name: string }[];
      has_more: boolean;
    };
    expect(list.data.map(({ id }) => id)).toEqual(expect.arrayContaining(["exact", "up/listed"]));
    expect(list.data.some(({ id }) => id.includes("*"))).toBe(false);
    expect(list).toMatchObject({ has_more: false });
    const one = await fetch(`${gateway.url}/v1/models/claude-opus-5`);
    expect(await one.json()).toMatchObject({ id: "claude-opus-5", type: "model" });
    expect((await fetch(`${gateway.url}/v1/models/gpt-5`)).status).toBe(404);
    expect(list.data[0]).toMatchObject({ type: "model", display_name: "exact" });
  });
});
