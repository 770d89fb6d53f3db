import { openStore } from "@deltawire/store";
import type { TaskView } from "@deltawire/tasks";
import type { Chat, ChatReply } from "@deltawire/tasks/chats";
import type { JsonObject } from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { createAccessKey, type NewAccessKeyBody } from "../src/security/manage-access-keys.ts";
import { createKeyClient, keyGatewayFixture, type KeyClient } from "./access-key-fixture.ts";
import { sleep, testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type UpstreamScript,
} from "./scripted-upstream.ts";
import { sendJson, sendReply } from "./wire-replies.ts";
import { helloBodies } from "../check/attack/wires.ts";

// Tasks run, and counts are exchanged twice a second.
vi.setConfig({ testTimeout: 60_000 });

const longText = "Once upon a time there was a fox. ".repeat(30);

/** A model that is named after what it does. */
const script: UpstreamScript = async ({ body, path, closed }, response) => {
  if (path.endsWith("/embeddings"))
    return sendJson(response, {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 40, total_tokens: 40 },
    });
  if (path.endsWith("/messages")) {
    const hasUsage = body["model"] !== "no-usage";
    const usage = hasUsage ? { usage: { input: 5, output: 3 } } : {};
    return sendReply("messages", response, body, {
      text: [hasUsage ? "Hi" : longText],
      ...usage,
    });
  }
  switch (body["model"]) {
    case "endless":
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: longText })));
      return closed;
    case "silent":
      return closed;
    case "no-usage":
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: longText })));
      response.write(formatEvent(chatChunk({}, "stop")));
      return void response.end(formatEvent("[DONE]"));
    case "broken":
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: longText })));
      await sleep(50);
      return void response.destroy();
    case "complete":
      return sendJson(response, {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "complete",
        choices: [
          { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      });
    default:
      return streamText(response, "One", "Two"); // 12 tokens
  }
};

/** With an upstream that reports no usage. */
const silentUsageFixture = () =>
  limitFixture(({ body }, response) =>
    body["model"] === "rejected"
      ? void response.writeHead(400).end('{"error":{"message":"no"}}')
      : sendJson(response, { object: "list", data: [] }),
  );

async function limitFixture(upstreamScript: UpstreamScript = script) {
  const upstream = await testUpstream(upstreamScript);
  const fixture = await keyGatewayFixture(`
[upstreams.up]
base_url = "${upstream.url}"
speaks = "chat"
retries = 0
[upstreams.messages]
base_url = "${upstream.url}"
speaks = "messages"
retries = 0
[models.priced]
use = "up/m"
price_input = 100_000
price_output = 100_000
[agents.clerk]
model = "up/m"
instructions = "You are the clerk."
[agents.manager]
model = "up/m"
instructions = "You are the manager."
agents = ["clerk"]
`);
  const readTokens = async (keyId: string): Promise<number> => {
    const { totals } = await fixture.store.addUsage([
      { keyId, unit: "tokens", period: "day", amount: 0 },
    ]);
    return totals[0]?.amount ?? 0;
  };
  /** Waits until the used tokens of the only key are stored. */
  const waitForTokens = async (expected: (tokens: number) => boolean): Promise<number> => {
    const keyId = (await fixture.store.listAccessKeys())[0]?.id ?? "";
    await waitUntil("the tokens are counted", async () => expected(await readTokens(keyId)), 5000);
    return readTokens(keyId);
  };
  return { ...fixture, waitForTokens };
}

const ask = (client: KeyClient, model: string, overrides: object = {}) =>
  client.request("POST", "/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: "Hello" }],
    ...overrides,
  });

const askMessages = (client: KeyClient, model: string, overrides: object = {}) =>
  client.request("POST", "/v1/messages", { ...helloBodies.messages, model, ...overrides });

function expectLimitReached(
  { status, headers, body }: Awaited<ReturnType<typeof ask>>,
  code: string,
) {
  expect([status, body]).toMatchObject([429, { error: { type: "rate_limit_error", code } }]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

/** Every route that starts model requests, with a valid body. */
const limitedRequests = (
  chatId: string,
  nodes: readonly string[],
): [path: string, body: object][] => [
  ["/v1/responses", { model: "up/m", input: "Hello" }],
  ["/v1/responses", { model: "up/m", input: "Hello", background: true }],
  ["/v1/responses/compact", { model: "up/m", input: "Hello" }],
  ["/v1/chat/completions", { model: "up/m", messages: [{ role: "user", content: "Hello" }] }],
  ["/v1/embeddings", { model: "up/m", input: "Hello" }],
  ["/v1/images/generations", { model: "up/m", prompt: "A fox" }],
  ["/v1/audio/speech", { model: "up/m", input: "Hello", voice: "fox" }],
  ["/api/tasks", { model: "up/m", input: "Hello" }],
  [
    "/api/ui-messages?model=up/m",
    { messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "Hello" }] }] },
  ],
  [`/api/chats/${chatId}/send`, { text: "Hello" }],
  [`/api/chats/${chatId}/rerun`, { node_id: nodes[1] }],
  [`/api/chats/${chatId}/continue`, { node_id: nodes[1] }],
  [`/api/chats/${chatId}/edit-message`, { node_id: nodes[0], text: "Hi", as: "branch" }],
];

async function createAnsweredChat(client: KeyClient) {
  const created = await client.request("POST", "/api/chats", { settings: { agent: "clerk" } });
  const { chat_id: chatId } = (created.body as { chat: { chat_id: string } }).chat;
  await client.request("POST", `/api/chats/${chatId}/send`, { text: "Hello" });
  const readChat = async () => (await client.request("GET", `/api/chats/${chatId}`)).body;
  await waitUntil(
    "the answer",
    async () => !JSON.stringify(await readChat()).includes('"running"'),
  );
  const { chat } = (await readChat()) as { chat: { nodes: object } };
  return { chatId, nodes: Object.keys(chat.nodes) };
}

describe("a limit of requests", () => {
  test("applies to every route that uses models, streamed or not, and to no other", async () => {
    const { createClient } = await limitFixture();
    const unlimited = await createClient({ name: "ann" });
    const { chatId, nodes } = await createAnsweredChat(unlimited);
    const limited = await createClient({
      name: "ann's phone",
      owner: "ann",
      limits: { requests_per_minute: 1 },
    });
    expect((await ask(limited, "up/m")).status).toBe(200);
    for (const [path, body] of limitedRequests(chatId, nodes)) {
      const reply = await limited.request("POST", path, body);
      expect([path, reply.status]).toEqual([path, 429]);
      expectLimitReached(reply, "rate_limit_exceeded");
    }
    expectLimitReached(await ask(limited, "up/m", { stream: true }), "rate_limit_exceeded");
    for (const stream of [true, false]) {
      const { status, headers, body } = await askMessages(limited, "up/m", { stream });
      expect([status, body]).toMatchObject([429, { error: { type: "rate_limit_error" } }]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    for (const path of ["/v1/models", "/api/tasks", "/api/chats", `/api/chats/${chatId}`])
      expect([path, (await limited.request("GET", path)).status]).toEqual([path, 200]);
    expect((await ask(unlimited, "up/m")).status).toBe(200);
  });
});

describe("the tokens of a key are counted", () => {
  test.each([
    ["a complete reply", "complete", { stream: false }, 15],
    ["a streamed reply", "m", { stream: true, stream_options: { include_usage: true } }, 12],
    ["a streamed reply to a client that does not ask for usage", "m", { stream: true }, 12],
  ])("as the upstream reports them, for %s", async (_what, model, overrides, tokens) => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    expect((await ask(client, `up/${model}`, overrides)).status).toBe(200);
    expect(await waitForTokens((count) => count > 0)).toBe(tokens);
  });

  test("as reported for embeddings, and for the Responses API", async () => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    await client.request("POST", "/v1/embeddings", { model: "up/m", input: "Hello" });
    expect(await waitForTokens((count) => count > 0)).toBe(40);
    await client.request("POST", "/v1/responses", { model: "up/m", input: "Hello", stream: true });
    expect(await waitForTokens((count) => count > 40)).toBe(52);
  });

  test.each([true, false])(
    "as a Messages upstream reports them, and for the Messages API (stream: %s)",
    async (stream) => {
      const { createClient, waitForTokens } = await limitFixture();
      const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
      expect((await askMessages(client, "up/m", { stream })).status).toBe(200);
      expect(await waitForTokens((count) => count > 0)).toBe(12);
      expect((await askMessages(client, "messages/m", { stream })).status).toBe(200);
      expect(await waitForTokens((count) => count > 12)).toBe(20);
      expect((await ask(client, "messages/m", { stream })).status).toBe(200);
      expect(await waitForTokens((count) => count > 20)).toBe(28);
    },
  );

  test.each([
    ["that reports no usage", "up/no-usage"],
    ["that is truncated", "up/broken"],
    ["of a Messages upstream that reports no usage", "messages/no-usage"],
  ])("as an estimate for a Messages client and a reply %s", async (_what, model) => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    await askMessages(client, model, { stream: true }).catch(() => undefined);
    const tokens = await waitForTokens((count) => count > 0);
    expect(tokens).toBeGreaterThan(longText.length / 5);
    expect(tokens).toBeLessThan(longText.length / 3);
  });

  test.each<[string, string, object, number]>([
    ["embeddings of a string", "/v1/embeddings", { input: longText }, longText.length / 4],
    [
      "embeddings of several strings",
      "/v1/embeddings",
      { input: [longText, "Hi"] },
      longText.length / 4 + 1,
    ],
    ["embeddings of tokens", "/v1/embeddings", { input: [[1, 2, 3], [4]] }, 4],
    ["speech", "/v1/audio/speech", { input: longText, voice: "fox" }, longText.length / 4],
    ["images", "/v1/images/generations", { prompt: longText }, longText.length / 4],
  ])("as an estimate of the request, for %s without usage", async (_what, path, body, tokens) => {
    const { createClient, waitForTokens } = await silentUsageFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const reply = await client.request("POST", path, { model: "up/m", ...body });
    expect([reply.status, reply.body]).toEqual([200, { object: "list", data: [] }]);
    expect(await waitForTokens((count) => count > 0)).toBe(Math.ceil(tokens));
  });

  test("as an estimate of the upload, for a transcription without usage", async () => {
    const { gateway, createClient, waitForTokens } = await silentUsageFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const form = new FormData();
    form.append("model", "up/m");
    form.append("file", new Blob([new Uint8Array(75_000)]), "a.wav");
    const { status } = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.key}` },
      body: form,
    });
    expect(status).toBe(200);
    expect(await waitForTokens((count) => count > 0)).toBeOneOf([101, 102]);
  });

  test("not for embeddings that the upstream rejects", async () => {
    const { createClient, waitForTokens } = await silentUsageFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const embed = (model: string) =>
      client.request("POST", "/v1/embeddings", { model, input: "Hello" });
    expect((await embed("up/rejected")).status).toBe(400);
    expect((await embed("up/m")).status).toBe(200);
    expect(await waitForTokens((count) => count > 0)).toBe(2);
  });

  test.each([
    ["that reports no usage", "no-usage"],
    ["that is truncated", "broken"],
  ])("as an estimate for a reply %s", async (_what, model) => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    await ask(client, `up/${model}`, { stream: true }).catch(() => undefined);
    const tokens = await waitForTokens((count) => count > 0);
    expect(tokens).toBeGreaterThan(longText.length / 5);
    expect(tokens).toBeLessThan(longText.length / 3);
  });

  test.each([
    ["a response in the background", "/v1/responses", { background: true }],
    ["a compaction", "/v1/responses/compact", {}],
    [
      "a compaction that the input requests",
      "/v1/responses",
      { input: [{ role: "user", content: "Hello" }, { type: "compaction_trigger" }] },
    ],
  ])("as an estimate for %s without usage", async (_what, path, overrides) => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const body = { model: "up/no-usage", input: "Hello", ...overrides };
    expect((await client.request("POST", path, body)).status).toBe(200);
    const tokens = await waitForTokens((count) => count > 0);
    expect(tokens).toBeGreaterThan(longText.length / 5);
    expect(tokens).toBeLessThan(longText.length / 2);
  });

  test.each([
    ["while it receives the reply", "endless", longText.length / 5],
    ["before the reply begins", "silent", 1],
  ])("as an estimate for a client that disconnects %s", async (_what, model, least) => {
    const { gateway, createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const abort = new AbortController();
    const reply = fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.key}` },
      body: JSON.stringify({
        model: `up/${model}`,
        stream: true,
        messages: [{ role: "user", content: "Hello" }],
      }),
      signal: abort.signal,
    }).then((response) => response.body?.getReader().read());
    await Promise.race([reply, sleep(300)]);
    abort.abort();
    await reply.catch(() => undefined);
    expect(await waitForTokens((count) => count > 0)).toBeGreaterThanOrEqual(least);
  });

  test("not for a request that the upstream rejects", async () => {
    const upstream = await testUpstream((_request, response) => {
      response.writeHead(400).end('{"error":{"message":"no"}}');
    });
    const { store, createClient } = await keyGatewayFixture(
      `[upstreams.up]\nbase_url = "${upstream.url}"\nspeaks = "chat"\n`,
    );
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    expect((await ask(client, "up/m")).status).toBe(400);
    await sleep(700);
    const keyId = (await store.listAccessKeys())[0]?.id ?? "";
    const { totals } = await store.addUsage([{ keyId, unit: "tokens", period: "day", amount: 0 }]);
    expect(totals[0]?.amount).toBe(0);
  });
});

describe("a limit of tokens", () => {
  test("ends with 429 and Retry-After until the next day, for all routes that use models", async () => {
    const { createClient } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 25 } });
    const { chatId, nodes } = await createAnsweredChat(client); // 12 tokens
    expect((await ask(client, "up/m", { stream: true })).status).toBe(200);
    expect((await ask(client, "up/m")).status).toBe(200);
    for (const [path, body] of limitedRequests(chatId, nodes))
      expectLimitReached(await client.request("POST", path, body), "insufficient_quota");
  });

  test("ends a task at its next request to a model, with sub-agents and chats too", async () => {
    const upstream = await testUpstream(({ body }, response) => {
      const messages = JSON.stringify(body["messages"]);
      if (messages.includes("You are the clerk.")) return streamText(response, "One", "Two");
      beginStream(response);
      const call = { name: "ask_for_help", arguments: '{"name":"clerk","prompt":"Help"}' };
      const tool_calls = [
        { index: 0, id: `call_${messages.length}`, type: "function", function: call },
      ];
      response.write(formatEvent(chatChunk({ tool_calls })));
      response.write(formatEvent(chatChunk({}, "tool_calls")));
      response.write(
        formatEvent({
          ...chatChunk({}),
          choices: [],
          usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
        }),
      );
      response.end(formatEvent("[DONE]"));
    });
    const { createClient } = await keyGatewayFixture(`
[upstreams.up]
base_url = "${upstream.url}"
speaks = "chat"
[agents.clerk]
model = "up/m"
instructions = "You are the clerk."
[agents.manager]
model = "up/m"
instructions = "You are the manager."
agents = ["clerk"]
max_rounds = 50
`);
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 100 } });
    const started = await client.request("POST", "/api/tasks", { agent: "manager", input: "Go" });
    const { task_id: id } = started.body as TaskView;
    const readTask = async () => (await client.request("GET", `/api/tasks/${id}`)).body as TaskView;
    await waitUntil("the task ends", async () => (await readTask()).status === "failed");
    const { error } = await readTask();
    expect(error).toMatchObject({
      code: "insufficient_quota",
      message: expect.stringContaining("its limit of 100 tokens per day") as string,
    });
    // 32 tokens for each round of the manager and its clerk: the fourth one is not completed.
    expect(upstream.requests).toHaveLength(7);
  });

  test("counts agents that are used as models", async () => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 30 } });
    for (const [count, path, body] of [
      [12, "/v1/responses", { model: "clerk", input: "Hello" }],
      [24, "/v1/chat/completions", { model: "clerk", messages: [{ role: "user", content: "Hi" }] }],
      [36, "/v1/responses", { model: "clerk", input: "Again", stream: true }],
    ] as const) {
      expect((await client.request("POST", path, body)).status).toBe(200);
      await waitForTokens((tokens) => tokens === count);
    }
    const reply = await client.request("POST", "/v1/responses", { model: "clerk", input: "Hello" });
    expectLimitReached(reply, "insufficient_quota");
  });

  test("counts what a canceled task has received", async () => {
    const { createClient, waitForTokens } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
    const started = await client.request("POST", "/api/tasks", {
      model: "up/endless",
      input: "Go",
    });
    const { task_id: id } = started.body as TaskView;
    const read = async () => JSON.stringify((await client.request("GET", `/api/tasks/${id}`)).body);
    await waitUntil("the output", async () => (await read()).includes("Once upon"));
    await client.request("POST", `/api/tasks/${id}/cancel`, {});
    expect(await waitForTokens((count) => count > 0)).toBeGreaterThan(longText.length / 5);
  });
});

describe("a budget", () => {
  test("is used up by the prices of the models, and then answers 429 with Retry-After", async () => {
    const { createClient } = await limitFixture();
    // 12 tokens cost 1.2.
    const client = await createClient({ name: "ann", limits: { cost_per_month: 2 } });
    for (const stream of [true, false])
      expect((await ask(client, "priced", { stream })).status).toBe(200);
    const reply = await ask(client, "priced");
    expectLimitReached(reply, "insufficient_quota");
    expect(JSON.stringify(reply.body)).toContain("its budget of 2 per month");
  });

  test("rejects models and endpoints whose cost is unknown, before anything is sent", async () => {
    const { createClient } = await limitFixture();
    const client = await createClient({ name: "ann", limits: { cost_per_day: 2 } });
    const unpriced = [
      await ask(client, "up/m"),
      await client.request("POST", "/v1/embeddings", { model: "up/m", input: "Hello" }),
      await client.request("POST", "/api/tasks", { model: "up/m", input: "Hello" }),
      await client.request("POST", "/api/tasks", { agent: "manager", input: "Hello" }),
      await client.request("POST", "/v1/responses", { model: "clerk", input: "Hello" }),
    ];
    for (const { status, body } of unpriced)
      expect([status, body]).toMatchObject([
        400,
        { error: { message: expect.stringContaining("has no price") as string } },
      ]);
    const speech = await client.request("POST", "/v1/audio/speech", {
      model: "priced",
      input: "Hi",
    });
    expect([speech.status, JSON.stringify(speech.body)]).toEqual([
      400,
      expect.stringContaining("the cost of /v1/audio/speech is not known"),
    ]);
  });
});

describe("the title of a chat", () => {
  const isTitleRequest = ({ body }: { body: JsonObject }) =>
    JSON.stringify(body).includes("Write a title");

  /** Starts the first answer of a chat. It ends when `finishAnswer` is called. */
  async function titleFixture(limits: NewAccessKeyBody["limits"], toml = "") {
    const { promise: mayEnd, resolve: finishAnswer } = Promise.withResolvers<void>();
    const upstream = await testUpstream(async (request, response) => {
      if (isTitleRequest(request)) return streamText(response, "A ", "title"); // 12 tokens
      await mayEnd;
      return script(request, response);
    });
    const fixture = await keyGatewayFixture(
      `
[upstreams.up]
base_url = "${upstream.url}"
speaks = "chat"
[models.priced]
use = "up/m"
price_input = 100_000
price_output = 100_000
`,
      { chats: toml },
    );
    const client = await fixture.createClient({ name: "ann", ...(limits && { limits }) });
    const created = await client.request("POST", "/api/chats", { settings: { model: "priced" } });
    const { chat_id: chatId } = (created.body as ChatReply).chat;
    const sent = await client.request("POST", `/api/chats/${chatId}/send`, { text: "Hello there" });
    expect(sent.status).toBe(201);
    const [key] = await fixture.store.listAccessKeys();
    const waitForTitle = async (): Promise<string> => {
      let title = "";
      await waitUntil("the title", async () => {
        ({ title } = ((await fixture.store.getChat(chatId))?.chat as Chat) ?? { title });
        return title !== "";
      });
      return title;
    };
    const countTitleRequests = () => upstream.requests.filter(isTitleRequest).length;
    return { ...fixture, keyId: key?.id ?? "", finishAnswer, waitForTitle, countTitleRequests };
  }

  test("counts toward the tokens and the budget of the key", async () => {
    const { store, keyId, finishAnswer, waitForTitle } = await titleFixture({
      tokens_per_day: 1_000_000,
      cost_per_day: 1_000_000,
    });
    finishAnswer();
    expect(await waitForTitle()).toBe("A title");
    const read = async (unit: "tokens" | "cost") => {
      const { totals } = await store.addUsage([{ keyId, unit, period: "day", amount: 0 }]);
      return totals[0]?.amount ?? 0;
    };
    await waitUntil("both are counted", async () => (await read("tokens")) === 24, 5000);
    expect(await read("cost")).toBeCloseTo(2.4);
  });

  test.each<[string, NewAccessKeyBody["limits"], string]>([
    ["the answer has used up the tokens of the key", { tokens_per_day: 12 }, ""],
    ["the answer has used up the budget of the key", { cost_per_day: 1.2 }, ""],
    ["its model has no price, and the key a budget", { cost_per_day: 9 }, 'title_model = "up/m"'],
  ])("is the start of the message if %s", async (_why, limits, toml) => {
    const fixture = await titleFixture(limits, toml);
    fixture.finishAnswer();
    expect(await fixture.waitForTitle()).toBe("Hello there");
    expect(fixture.countTitleRequests()).toBe(0);
    expect(fixture.gateway.lines.join("")).not.toContain('"level":"error"');
  });

  test("is not requested if the key was revoked while the model answered, which cancels the answer", async () => {
    const fixture = await titleFixture(undefined);
    await fixture.store.revokeAccessKey(fixture.keyId, Date.now());
    const readTask = async () => (await fixture.store.listTasks({ owner: "ann", limit: 1 }))[0];
    const isCanceled = async () => (await readTask())?.status === "canceled";
    await waitUntil("the answer is canceled", isCanceled, 4000);
    fixture.finishAnswer();
    await sleep(500);
    expect(fixture.countTitleRequests()).toBe(0);
  });
});

describe("a task of a key that was revoked", () => {
  const startTask = async (client: KeyClient, body: object) => {
    const { task_id: id } = (await client.request("POST", "/api/tasks", body)).body as TaskView;
    return id;
  };

  test("is canceled within 4 s while a model answers, which ends the request to the upstream", async () => {
    let isUpstreamClosed = false;
    const { gateway, store, createClient } = await limitFixture((request, response) => {
      void request.closed.then(() => (isUpstreamClosed = true));
      return script(request, response);
    });
    const client = await createClient({ name: "ann", owner: "team" });
    const other = await createClient({ name: "bob", owner: "team" });
    const id = await startTask(client, { model: "up/endless", input: "Hello" });
    const otherId = await startTask(other, { model: "up/endless", input: "Hello" });
    const readTask = async (taskId: string) =>
      (await other.request("GET", `/api/tasks/${taskId}`)).body as TaskView;
    const isAnswering = async () => JSON.stringify(await readTask(id)).includes("a fox");
    await waitUntil("the model answers", isAnswering);
    const [key] = await store.listAccessKeys();
    await store.revokeAccessKey(key?.id ?? "", Date.now());
    const isCanceled = async () => (await readTask(id)).status === "canceled";
    await waitUntil("the task is canceled", isCanceled, 4000);
    await waitUntil("the upstream is disconnected", () => isUpstreamClosed, 1000);
    expect((await other.request("GET", `/api/tasks/${id}/events`)).body).toContain(
      'the access key \\"ann\\" was revoked; use another one',
    );
    expect((await readTask(otherId)).status).toBe("working");
    expect(gateway.lines.join("")).not.toContain(client.key);
  });

  test("is canceled within 4 s while it waits for a decision, and when the key expires too", async () => {
    const { store, createClient } = await keyGatewayFixture();
    const clients = [
      await createClient({ name: "ann", owner: "team" }),
      await createClient({
        name: "eve",
        owner: "team",
        expires_at: new Date(Date.now() + 4000).toISOString(),
      }),
    ];
    const other = await createClient({ name: "bob", owner: "team" });
    const ids = await Promise.all(
      clients.map((client) =>
        startTask(client, { agent: "demo-agent", input: 'please send_message to Bob: "hello"' }),
      ),
    );
    const readStatuses = () =>
      Promise.all(
        ids.map(
          async (id) => ((await other.request("GET", `/api/tasks/${id}`)).body as TaskView).status,
        ),
      );
    const areAll = (status: string) => async () =>
      (await readStatuses()).every((found) => found === status);
    await waitUntil("the approvals", areAll("input_required"), 3500);
    const [key] = await store.listAccessKeys();
    await store.revokeAccessKey(key?.id ?? "", Date.now());
    await waitUntil("the tasks are canceled", areAll("canceled"), 8000);
    expect(await readStatuses()).toEqual(["canceled", "canceled"]);
  });

  test("is canceled within 4 s if it is a response in the background", async () => {
    const { store, createClient } = await limitFixture();
    const client = await createClient({ name: "ann", owner: "team" });
    const other = await createClient({ name: "bob", owner: "team" });
    const body = { model: "up/endless", input: "Hello", background: true };
    const { id } = (await client.request("POST", "/v1/responses", body)).body as { id: string };
    const readResponse = async () =>
      (await other.request("GET", `/v1/responses/${id}`)).body as { status: string };
    await waitUntil("it runs", async () => (await readResponse()).status === "in_progress");
    const [key] = await store.listAccessKeys();
    await store.revokeAccessKey(key?.id ?? "", Date.now());
    await waitUntil("it ends", async () => (await readResponse()).status !== "in_progress", 4000);
    expect(await readResponse()).toMatchObject({ status: "cancelled" });
  });
});

describe.skipIf(!canRunPostgres)("with two gateways on one PostgreSQL database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  async function startGateways() {
    const upstream = await testUpstream(script);
    const toml = `[server]\nport = 0\n[upstreams.up]\nbase_url = "${upstream.url}"\nspeaks = "chat"\n[store]\nurl = "env:DB"\n`;
    const options = { env: { DB: server.url } };
    const gateways = [await testGateway(toml, options), await testGateway(toml, options)];
    const store = await openStore({ url: server.url, exclusive: false });
    onTestFinished(() => store.close());
    const createClients = async (body: NewAccessKeyBody) => {
      const { key } = await createAccessKey(body, store);
      return gateways.map(({ url }) => createKeyClient(url, key));
    };
    return { createClients };
  }

  test("both together exceed a limit of requests by at most a tenth", async () => {
    const { createClients } = await startGateways();
    // Repeated if a minute ended in between, or on a busy machine: after a second a request no longer waits for the other counts.
    for (let round = 1; ; round += 1) {
      const clients = await createClients({
        name: `requests ${round}`,
        limits: { requests_per_minute: 40 },
      });
      const minute = () => Math.floor(Date.now() / 60_000);
      const startedIn = minute();
      const startedAt = performance.now();
      const replies = await Promise.all(
        Array.from({ length: 35 }, () => clients.map((client) => ask(client, "up/m"))).flat(),
      );
      const isSlow = performance.now() - startedAt > 1000 && round < 10;
      if (minute() !== startedIn || isSlow) continue;
      const served = replies.filter(({ status }) => status === 200).length;
      expect(served).toBeGreaterThanOrEqual(40);
      expect(served).toBeLessThanOrEqual(44);
      for (const reply of replies.filter(({ status }) => status !== 200))
        expectLimitReached(reply, "rate_limit_exceeded");
      return;
    }
  });

  test("each knows within a second what the other one has used of a limit of tokens", async () => {
    const { createClients } = await startGateways();
    // Repeated because a busy machine may be slower.
    for (let round = 1; ; round += 1) {
      const clients = await createClients({
        name: `tokens ${round}`,
        limits: { tokens_per_day: 30 },
      });
      const [first, second] = clients as [KeyClient, KeyClient];
      expect((await ask(second, "up/m")).status).toBe(200);
      for (let count = 0; count < 2; count += 1)
        expect((await ask(first, "up/m")).status).toBe(200);
      await sleep(1000);
      const reply = await ask(second, "up/m");
      if (reply.status === 200 && round < 5) continue;
      expectLimitReached(reply, "insufficient_quota");
      expectLimitReached(await ask(first, "up/m"), "insufficient_quota");
      return;
    }
  });
});
