import type { ResponseInputItem, JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import type { RequestContext } from "../src/http/request-context.ts";
import { getScopedIdempotencyKey } from "../src/http/task-request-params.ts";
import { ConversationDigest } from "../src/reasoning/conversation-digest.ts";
import {
  agentResponsesRequest as askAgent,
  approvalToml,
  callClock,
  answerText as says,
  scriptedAgentFixture,
} from "./agent-fixture.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { readEvents, upstreamToml, type TestGateway } from "./test-gateway.ts";
import { gatewayFixture, testUpstream } from "./gateway-fixture.ts";
import { sendError, type ReceivedRequest } from "./scripted-upstream.ts";
import { sendJson, sendReply } from "./wire-replies.ts";

/* What the gateway stores for one client or one conversation never enters a request of another. */

const tokens = { a: "token-of-client-a-0123456789", b: "token-of-client-b-0123456789" };
const withTokens = `[server]\nport = 0\n[clients.a]\ntoken = "${tokens.a}"\n[clients.b]\ntoken = "${tokens.b}"\n`;
const authorizeAs = (client: "a" | "b") => ({
  headers: { authorization: `Bearer ${tokens[client]}` },
});

const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
const user = (content: string) => ({ type: "message", role: "user", content });
const call = { type: "function_call", call_id: "call_0", name: "look", arguments: '{"at":1}' };
const result = { type: "function_call_output", call_id: "call_0", output: "seen" };

/** Replies to the first request of a conversation with reasoning and a call, and to others with text. */
async function reasoningFixture(toml = withTokens) {
  const { gateway, upstream } = await gatewayFixture(
    ({ body }, response) => {
      const isFirst = !JSON.stringify(body["messages"]).includes("call_0");
      const calls = [{ id: "call_0", name: "look", arguments: ['{"at":1}'] }];
      const secret = `secret of ${getLastUserText(body)}`;
      sendReply(
        "chat",
        response,
        body,
        isFirst ? { reasoning: [secret], calls } : { text: ["ok"] },
      );
    },
    { toml, upstream: { profile: "deepseek" } },
  );
  return { gateway, upstream };
}

function getLastUserText(body: JsonObject): string {
  const messages = body["messages"] as { role: string; content: string }[];
  return messages.findLast(({ role }) => role === "user")?.content ?? "";
}

async function sendTurn(
  gateway: TestGateway,
  input: object[],
  options: Parameters<TestGateway["post"]>[2] = {},
  overrides: object = {},
): Promise<void> {
  const body = { model: "up/m", stream: true, store: false, tools, input, ...overrides };
  const response = await gateway.post("/responses", body, options);
  expect(response.status).toBe(200);
  await response.text();
}

function sentReasoning(request: ReceivedRequest | undefined): unknown {
  const messages = (request?.body["messages"] ?? []) as JsonObject[];
  return messages.find(({ role }) => role === "assistant")?.["reasoning_content"];
}

describe("the reasoning of a call", () => {
  test("is sent back in its own conversation, although the client has lost it", async () => {
    const { gateway, upstream } = await reasoningFixture();
    await sendTurn(gateway, [user("Buy")], authorizeAs("a"));
    await sendTurn(gateway, [user("Buy"), call, result], authorizeAs("a"));
    expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
  });

  test("is not sent with the same call id of another client, even in the same conversation", async () => {
    const { gateway, upstream } = await reasoningFixture();
    await sendTurn(gateway, [user("Buy")], authorizeAs("a"));
    await sendTurn(gateway, [user("Sell"), call, result], authorizeAs("b"));
    await sendTurn(gateway, [user("Buy"), call, result], authorizeAs("b"));
    for (const request of upstream.requests.slice(1)) expect(sentReasoning(request)).toBe("");
    expect(JSON.stringify(upstream.requests.slice(1).map(({ body }) => body))).not.toContain(
      "secret",
    );
  });

  test.each([withTokens, ""])(
    "is not sent in another conversation of the same client",
    async (toml) => {
      const { gateway, upstream } = await reasoningFixture(toml);
      const client = toml === "" ? {} : authorizeAs("a");
      await sendTurn(gateway, [user("Buy")], client);
      await sendTurn(gateway, [user("Sell"), call, result], client);
      expect(sentReasoning(upstream.requests.at(-1))).toBe("");
      await sendTurn(gateway, [user("Buy"), call, result], client);
      expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
    },
  );

  test("is not sent to a Chat client whose history has a call with the same id", async () => {
    const { gateway, upstream } = await reasoningFixture();
    await sendTurn(gateway, [user("Buy")], authorizeAs("a"));
    const messages = [
      { role: "user", content: "Buy" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_0", type: "function", function: { name: "look", arguments: '{"at":1}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_0", content: "seen" },
    ];
    for (const client of ["a", "b"] as const) {
      const body = { model: "up/m", messages };
      await (await gateway.post("/chat/completions", body, authorizeAs(client))).text();
      expect(sentReasoning(upstream.requests.at(-1))).toBe("");
    }
  });

  test("of two conversations at the same time stays in each", async () => {
    const { gateway, upstream } = await reasoningFixture();
    await Promise.all(
      ["One", "Two"].map((words) => sendTurn(gateway, [user(words)], authorizeAs("a"))),
    );
    for (const words of ["Two", "One"]) {
      await sendTurn(gateway, [user(words), call, result], authorizeAs("a"));
      expect(sentReasoning(upstream.requests.at(-1))).toBe(`secret of ${words}`);
    }
  });

  test.each<[string, object[], object?]>([
    [
      "contents in parts",
      [{ role: "user", content: [{ type: "input_text", text: "Buy" }] }, call, result],
    ],
    ["whitespace around text", [user(" Buy\n"), call, result]],
    [
      "arguments with other whitespace",
      [user("Buy"), { ...call, arguments: '{ "at": 1 }' }, result],
    ],
    ["ids and a status", [user("Buy"), { ...call, id: "fc_1", status: "completed" }, result]],
    ["instructions with the time", [user("Buy"), call, result], { instructions: "It is noon." }],
    [
      "a new system message",
      [{ role: "system", content: "It is noon." }, user("Buy"), call, result],
    ],
    [
      "a text before the call",
      [user("Buy"), { role: "assistant", content: "Let me look." }, call, result],
    ],
  ])("is found even if the client sends back %s", async (_what, input, overrides = {}) => {
    const { gateway, upstream } = await reasoningFixture();
    await sendTurn(gateway, [user("Buy")], authorizeAs("a"));
    await sendTurn(gateway, input, authorizeAs("a"), overrides);
    expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
  });
});

describe("the reasoning of a call over Chat, which LangChain drops,", () => {
  type ChatMessage = { role: string; content: string | null; tool_calls?: { id: string }[] };
  const chatTools = [{ type: "function", function: { name: "look" } }];

  /** Sends a turn, and returns the history as LangChain sends it next: without reasoning, with new JSON of the arguments. */
  async function sendChatTurn(
    { gateway }: { gateway: TestGateway },
    messages: object[],
    { client = "a", model = "up/m", stream = false }: ChatTurnOptions = {},
  ): Promise<object[]> {
    const body = { model, stream, tools: chatTools, messages };
    const reply = await gateway.post("/chat/completions", body, authorizeAs(client));
    expect(reply.status).toBe(200);
    const { tool_calls: calls = [] } = stream
      ? collectMessage(await readEvents(reply))
      : ((await reply.json()) as { choices: [{ message: ChatMessage }] }).choices[0].message;
    const tool_calls = calls.map(({ id }) => ({
      id,
      type: "function",
      function: { name: "look", arguments: '{"at": 1}' },
    }));
    const results = calls.map(({ id }) => ({ role: "tool", content: "seen", tool_call_id: id }));
    return [...messages, { role: "assistant", content: "", tool_calls }, ...results];
  }
  type ChatTurnOptions = { client?: "a" | "b"; model?: string; stream?: boolean };

  function collectMessage(events: JsonObject[]): Pick<ChatMessage, "tool_calls"> {
    const deltas = events.flatMap(({ choices }) => (choices ?? []) as { delta: ChatMessage }[]);
    const calls = deltas.flatMap(({ delta }) => delta.tool_calls ?? []);
    return { tool_calls: calls.filter(({ id }) => id !== undefined) };
  }

  const question = (content: string) => [
    { role: "system", content: "Be brief." },
    { role: "user", content },
  ];

  /** Calls `call_0` in every reply, with the number of the turn in the reasoning. */
  async function callingFixture(profile: string) {
    return gatewayFixture(
      ({ body }, response) => {
        const turn = (body["messages"] as object[]).length;
        const calls = [{ id: "call_0", name: "look", arguments: ['{"at":', "1}"] }];
        sendReply("chat", response, body, { reasoning: ["secret ", `${turn}`], calls });
      },
      { toml: withTokens, upstream: { profile } },
    );
  }

  const listSent = (request: ReceivedRequest | undefined) =>
    ((request?.body["messages"] ?? []) as JsonObject[])
      .filter(({ role }) => role === "assistant")
      .map(({ reasoning_content: text }) => text);

  test.each(["deepseek", "kimi", "glm"])(
    "is sent back to %s for all turns, streamed or not",
    async (profile) => {
      const fixture = await callingFixture(profile);
      for (const stream of [false, true]) {
        let history: object[] = question(`Look, ${stream}`);
        for (let turn = 0; turn < 4; turn += 1)
          history = await sendChatTurn(fixture, history, { stream });
        await sendChatTurn(fixture, [...history, { role: "user", content: "And?" }], { stream });
        const sent = listSent(fixture.upstream.requests.at(-1));
        expect(sent).toEqual(["secret 2", "secret 4", "secret 6", "secret 8"]);
      }
    },
  );

  test("is not sent for another client, another conversation or another upstream", async () => {
    const other = await testUpstream(({ body }, response) =>
      sendReply("chat", response, body, { text: ["ok"] }),
    );
    const toml = `${withTokens}\n${upstreamToml("other", other.url, { profile: "deepseek" })}`;
    const fixture = await reasoningFixture(toml);
    const { upstream } = fixture;
    const history = await sendChatTurn(fixture, question("Buy"));
    await sendChatTurn(fixture, history, { client: "b" });
    expect(listSent(upstream.requests.at(-1))).toEqual([""]);
    await sendChatTurn(fixture, history.with(1, { role: "user", content: "Sell" }));
    expect(listSent(upstream.requests.at(-1))).toEqual([""]);
    await sendChatTurn(fixture, history, { model: "other/m" });
    expect(listSent(other.requests.at(-1))).toEqual([""]);
    await sendChatTurn(fixture, history);
    expect(listSent(upstream.requests.at(-1))).toEqual(["secret of Buy"]);
  });

  test("is sent back to a generic upstream that rejects calls without it", async () => {
    const fixture = await gatewayFixture(
      ({ body }, response) => {
        const messages = body["messages"] as JsonObject[];
        const isMissing = messages.some(
          ({ role, reasoning_content: text }) => role === "assistant" && !text,
        );
        const message =
          "The `reasoning_content` in the thinking mode must be passed back to the API.";
        if (isMissing) return sendError(response, 400, { message });
        const calls = [{ id: "call_0", name: "look", arguments: ['{"at":1}'] }];
        return sendReply("chat", response, body, { reasoning: ["hm"], calls });
      },
      { toml: withTokens },
    );
    let history: object[] = question("Look");
    for (let turn = 0; turn < 3; turn += 1) history = await sendChatTurn(fixture, history);
    expect(listSent(fixture.upstream.requests.at(-1))).toEqual(["hm", "hm"]);
    expect(fixture.upstream.requests).toHaveLength(4);
  });

  test("is not added for a client that sends its own", async () => {
    const fixture = await reasoningFixture();
    const history = await sendChatTurn(fixture, question("Buy"));
    const own = { ...history[2], reasoning_content: "my own" };
    await sendChatTurn(fixture, history.with(2, own));
    expect(listSent(fixture.upstream.requests.at(-1))).toEqual(["my own"]);
  });
});

test("the thought signature of a call returns to a generic upstream that sent it, if the Chat client drops it", async () => {
  const signed = { google: { thought_signature: "c2ln" } };
  const call = { id: "call_look01", type: "function", function: { name: "look", arguments: "{}" } };
  const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
    const message = { role: "assistant", content: null };
    const tool_calls = [{ ...call, extra_content: signed }];
    sendJson(response, {
      choices: [{ index: 0, finish_reason: "tool_calls", message: { ...message, tool_calls } }],
      model: body["model"],
    });
  });
  const messages: object[] = [{ role: "user", content: "Look" }];
  const post = async () => {
    await (await gateway.post("/chat/completions", { model: "up/m", messages })).text();
    return upstream.requests.at(-1)?.body["messages"];
  };
  await post();
  messages.push({ role: "assistant", content: null, tool_calls: [call] });
  messages.push({ role: "tool", content: "seen", tool_call_id: call.id });
  expect(await post()).toMatchObject([
    {},
    { tool_calls: [{ id: call.id, extra_content: signed }] },
    {},
  ]);
});

describe("the thinking that a Messages client has received", () => {
  type Block = JsonObject & { type: string };
  const messagesTools = [{ name: "look", input_schema: { type: "object" } }];
  const toolResult = { type: "tool_result", tool_use_id: "call_0", content: "seen" };

  /** Sends a turn and returns the blocks of the reply. */
  async function sendMessagesTurn(
    gateway: TestGateway,
    messages: object[],
    { client = "a", model = "up/m" }: { client?: "a" | "b"; model?: string } = {},
  ): Promise<Block[]> {
    const body = { model, max_tokens: 2000, tools: messagesTools, messages };
    const reply = await gateway.post("/messages", body, authorizeAs(client));
    expect(reply.status).toBe(200);
    return ((await reply.json()) as { content: Block[] }).content;
  }

  const continueWith = (question: string, blocks: readonly object[]): object[] => [
    { role: "user", content: question },
    { role: "assistant", content: blocks },
    { role: "user", content: [toolResult] },
  ];

  const omitThinking = (blocks: readonly Block[]) =>
    blocks.filter(({ type }) => type !== "thinking");

  test("goes back to the upstream that sent it, with its signature", async () => {
    const { gateway, upstream } = await reasoningFixture();
    const blocks = await sendMessagesTurn(gateway, [{ role: "user", content: "Buy" }]);
    expect(blocks.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
    await sendMessagesTurn(gateway, continueWith("Buy", blocks));
    expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
  });

  test("is not added to the history of another client with the same call, or to another conversation", async () => {
    const { gateway, upstream } = await reasoningFixture();
    const blocks = await sendMessagesTurn(gateway, [{ role: "user", content: "Buy" }]);
    const history = omitThinking(blocks);
    await sendMessagesTurn(gateway, continueWith("Buy", history), { client: "b" });
    await sendMessagesTurn(gateway, continueWith("Sell", history));
    await sendTurn(gateway, [user("Buy"), call, result], authorizeAs("b"));
    for (const { body } of upstream.requests.slice(1))
      expect(JSON.stringify(body)).not.toContain("secret");
  });

  test.each<[string, (signature: string) => string]>([
    ["altered", (signature) => `${signature.slice(0, -8)}AAAAAAAA`],
    ["cut", (signature) => signature.slice(0, 40)],
    ["of another provider", () => "EqQBCkYIBRgCKkBtlZ3v7Jk3"],
  ])(
    "is left out of the request if its signature is %s, and that is logged",
    async (_how, change) => {
      const { gateway, upstream } = await reasoningFixture();
      const blocks = await sendMessagesTurn(gateway, [{ role: "user", content: "Buy" }]);
      const altered = blocks.map((block) =>
        block.type === "thinking"
          ? { ...block, thinking: "injected", signature: change(block["signature"] as string) }
          : block,
      );
      await sendMessagesTurn(gateway, continueWith("Buy", altered));
      const sentBody = JSON.stringify(upstream.requests.at(-1)?.body);
      expect(sentBody).not.toContain("injected");
      expect(sentBody).not.toContain("EqQB");
      expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
        repairs: { reasoning_dropped: expect.any(Number) as number },
      });
    },
  );

  test.each(["chat", "responses", "messages"])(
    "is not sent to another upstream, which speaks %s",
    async (speaks) => {
      const other = await testUpstream(({ body, path }, response) =>
        sendReply(
          path.endsWith("/messages")
            ? "messages"
            : path.endsWith("/responses")
              ? "responses"
              : "chat",
          response,
          body,
          { text: ["ok"] },
        ),
      );
      const settings = { speaks };
      const { gateway } = await reasoningFixture(
        `${withTokens}\n${upstreamToml("other", other.url, settings)}`,
      );
      const blocks = await sendMessagesTurn(gateway, [{ role: "user", content: "Buy" }]);
      await sendMessagesTurn(gateway, continueWith("Buy", blocks), { model: "other/m" });
      const sentBody = JSON.stringify(other.requests[0]?.body);
      expect(sentBody).toContain("seen");
      expect(sentBody).not.toContain("secret");
      expect(sentBody).not.toContain(blocks[0]?.["signature"] as string);
    },
  );
});

describe("a digest of what precedes a call", () => {
  const digest = (items: object[], client = "a") =>
    new ConversationDigest(client, () => items as ResponseInputItem[]);

  test("is that of the conversation when the call was made", () => {
    const before = [user("One"), { role: "assistant", content: "Yes" }, user("Two")];
    expect(digest([...before, call, result]).getDigestBefore("call_0")).toBe(digest(before).digest);
    expect(digest([...before, call, result], "b").getDigestBefore("call_0")).not.toBe(
      digest(before).digest,
    );
  });

  test("is the same if the text of the answer before it was moved behind the results", () => {
    const text = { type: "message", role: "assistant", content: "Step 1" };
    const before = [user("One"), call, result, text];
    const next = { ...call, call_id: "call_1" };
    expect(digest([...before, next]).getDigestBefore("call_1")).toBe(digest(before).digest);
  });

  test("differs with every text, call, argument and result before it", () => {
    const other = { ...call, call_id: "call_other" };
    const all = [
      [user("One")],
      [user("Two")],
      [user("One"), other, { ...result, output: "x" }],
      [user("One"), other, { ...result, output: "y" }],
      [user("One"), { ...other, name: "touch" }, { ...result, output: "x" }],
      [user("One"), { ...other, arguments: "{}" }, { ...result, output: "x" }],
      [user("On"), user("e")],
      [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] }],
    ].map((items) => digest(items).digest);
    expect(new Set(all).size).toBe(all.length);
  });

  test("does not exist for a call id that occurs twice", () => {
    expect(
      digest([user("One"), call, result, user("Two"), call, result]).getDigestBefore("call_0"),
    ).toBe(undefined);
  });

  test("is computed quickly for a history of 5 MB", () => {
    const items = Array.from({ length: 1000 }, (_each, index) => [
      user(`${index} ${"x".repeat(2000)}`),
      { ...call, call_id: `call_${index}`, arguments: JSON.stringify({ text: "y".repeat(1000) }) },
      { ...result, call_id: `call_${index}`, output: "z".repeat(2000) },
    ]).flat();
    const long = digest(items);
    const spent = measureCpuTime(() => void long.getDigestBefore("call_999"));
    expect(long.getDigestBefore("call_999")).toBeDefined();
    // 13 ms when warm, 31 ms the first time; later it is cached.
    expect(spent).toBeLessThan(300);
    expect(measureCpuTime(() => void long.digest)).toBeLessThan(5);
  });
});

describe("a stored response", () => {
  test("can be continued by the client that created it, and by no other", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) => sendReply("chat", response, body, { text: ["Paris"] }),
      { toml: withTokens },
    );
    const post = (client: "a" | "b", body: object) =>
      gateway.post("/responses", { model: "up/m", ...body }, authorizeAs(client));
    const first = (await (await post("a", { input: "My secret" })).json()) as {
      id: string;
      output: { id: string }[];
    };
    const next = { input: "Go on", previous_response_id: first.id };
    const reference = { type: "item_reference", id: first.output[0]?.id };
    expect((await post("a", next)).status).toBe(200);
    expect((await post("a", { input: [user("And"), reference] })).status).toBe(200);
    const count = upstream.requests.length;
    for (const body of [next, { input: [user("And"), reference] }]) {
      const rejected = await post("b", body);
      expect(rejected.status).toBe(400);
      expect(await rejected.text()).toMatch(/not found: it was not created here/);
    }
    expect(upstream.requests).toHaveLength(count);
  });
});

test("an error that quotes one client's request is not shown to another while the model is paused", async () => {
  const { gateway } = await gatewayFixture(
    ({ body }, response) =>
      sendError(response, 500, { message: `cannot render "${getLastUserText(body)}"` }),
    { toml: withTokens, upstream: { retries: 0 } },
  );
  const post = (client: "a" | "b", input: string) =>
    gateway.post("/responses", { model: "up/m", input }, authorizeAs(client));
  for (let round = 0; round < 4; round += 1) await post("b", "Hello");
  await post("a", "My secret");
  const own = await post("a", "My secret");
  expect(own.status).toBe(503);
  expect(await own.text()).toContain("My secret");
  const other = await post("b", "Hello");
  expect(other.status).toBe(503);
  const text = await other.text();
  expect(text).toMatch(/is paused for \d s after repeated failures/);
  expect(text).not.toContain("My secret");
});

test("the same Idempotency-Key of two clients or owners, with a token or without, is not the same key", () => {
  const getKey = (name: string | undefined, owner = "") =>
    getScopedIdempotencyKey({
      request: { headers: { "idempotency-key": "1" } },
      client: name === undefined ? undefined : { name },
      owner,
    } as unknown as RequestContext);
  const keys = [
    getKey("a"),
    getKey("b"),
    getKey(undefined),
    getKey("key", "a"),
    getKey("key", "b"),
  ];
  expect(new Set(keys).size).toBe(5);
  expect(getKey("a")).toBe(keys[0]);
  // Two access keys of one owner.
  expect(getKey("another key", "a")).toBe(keys[3]);
});

describe("for two clients of one agent", () => {
  const agents = () =>
    scriptedAgentFixture([callClock, callClock, says("It is noon.")], {
      toml: `${withTokens}\n${approvalToml}`,
    });
  const postAs = (
    { url }: TestGateway,
    path: string,
    client: "a" | "b",
    body: object,
    headers: Record<string, string> = {},
  ) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorizeAs(client).headers, ...headers },
      body: JSON.stringify(body),
    });

  test.each([
    ["/api/tasks", "task_id", { agent: "clerk", input: "One" }, { agent: "clerk", input: "Two" }],
    ["/api/chats", "chat_id", { title: "One" }, { title: "Two" }],
  ])("the same Idempotency-Key creates separate objects at %s", async (path, id, one, two) => {
    const { gateway } = await agents();
    const key = { "idempotency-key": "1" };
    const createAndGetId = async (client: "a" | "b", body: object) => {
      const reply = await postAs(gateway, path, client, body, key);
      expect(reply.status).toBeLessThan(300);
      const created = (await reply.json()) as { chat?: JsonObject } & JsonObject;
      return (created.chat ?? created)[id];
    };
    const ofA = await createAndGetId("a", one);
    const ofB = await createAndGetId("b", two);
    expect(ofB).toMatch(/^(?:task|chat)_/);
    expect(ofB).not.toBe(ofA);
    expect(await createAndGetId("a", one)).toBe(ofA);
    expect(await createAndGetId("b", two)).toBe(ofB);
    for (const [client, body] of [["a", two] as const, ["b", one] as const])
      expect((await postAs(gateway, path, client, body, key)).status).toBe(409);
  });

  test("a reply that is waiting for an approval is continued only by its own client", async () => {
    const { gateway, upstream } = await agents();
    const startTask = async (client: "a" | "b") => {
      const reply = await gateway.post("/responses", askAgent, authorizeAs(client));
      expect(await reply.text()).toContain("approval_required");
      return reply.headers.get("x-deltawire-task");
    };
    const ofA = await startTask("a");
    const ofB = await startTask("b");
    expect(ofB).not.toBe(ofA);
    expect([await startTask("a"), await startTask("b")]).toEqual([ofA, ofB]);
    expect(upstream.requests).toHaveLength(2);
  });

  test("a response of an agent can be continued only by the client that created it", async () => {
    const { gateway, upstream } = await scriptedAgentFixture([says("It is noon.")], {
      toml: `${withTokens}\n${approvalToml}`,
    });
    const post = (client: "a" | "b", body: object) =>
      gateway.post("/responses", { ...askAgent, ...body }, authorizeAs(client));
    const first = (await (await post("a", { input: "My secret" })).json()) as {
      id: string;
      output: { id: string; type: string }[];
    };
    const message = first.output.find(({ type }) => type === "message");
    const bodies = [
      { previous_response_id: first.id },
      { input: [{ type: "item_reference", id: message?.id }, user("And")] },
    ];
    for (const body of bodies) expect((await post("b", body)).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
    for (const body of bodies) expect((await post("a", body)).status).toBe(200);
    expect(JSON.stringify(upstream.requests[1]?.body)).toContain("My secret");
  });
});

test.each(["token 1", "token 27", "", " ", "\n\n", "a\u0000b"])(
  "a client cannot be named %j, which could be confused with another one",
  (name) => {
    const toml = `[server]\ntokens = ["token-of-nobody-0123456789"]\n[clients.${JSON.stringify(name)}]\ntoken = "${tokens.a}"\n`;
    expect(() => parseConfig(toml, { file: "deltawire.toml", env: {} })).toThrow(
      /(?:reserved|invalid) client name/,
    );
  },
);
