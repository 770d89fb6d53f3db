import type { InputItem, JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../test/work-time.ts";
import type { Call } from "../src/http/call.ts";
import { idempotencyKey } from "../src/http/task-calls.ts";
import { ConversationDigest } from "../src/reasoning/conversation-digest.ts";
import { ask as askAgent, asksFirst, clock, answers as says, office } from "./agent-office.ts";
import { readConfig } from "../src/config/read.ts";
import type { TestGateway } from "./running-gateway.ts";
import { scene } from "./scene.ts";
import { refuse, type Received } from "./scripted-upstream.ts";
import { answers } from "./wire-replies.ts";

/* What the gateway stores for one client, or of one conversation, never enters the request of another. */

const tokens = { a: "token-of-client-a-0123456789", b: "token-of-client-b-0123456789" };
const withTokens = `[server]\nport = 0\n[clients.a]\ntoken = "${tokens.a}"\n[clients.b]\ntoken = "${tokens.b}"\n`;
const as = (client: "a" | "b") => ({ headers: { authorization: `Bearer ${tokens[client]}` } });

const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
const user = (content: string) => ({ type: "message", role: "user", content });
const call = { type: "function_call", call_id: "call_0", name: "look", arguments: '{"at":1}' };
const result = { type: "function_call_output", call_id: "call_0", output: "seen" };

/** Answers the first request of a conversation with reasoning and a call, and any other with a text. */
async function reasoningScene(toml = withTokens) {
  const { gateway, upstream } = await scene(
    ({ body }, response) => {
      const isFirst = !JSON.stringify(body["messages"]).includes("call_0");
      const calls = [{ id: "call_0", name: "look", arguments: ['{"at":1}'] }];
      const secret = `secret of ${lastWords(body)}`;
      answers("chat", response, body, isFirst ? { reasoning: [secret], calls } : { text: ["ok"] });
    },
    { toml, upstream: { profile: "deepseek" } },
  );
  return { gateway, upstream };
}

function lastWords(body: JsonObject): string {
  const messages = body["messages"] as { role: string; content: string }[];
  return messages.findLast(({ role }) => role === "user")?.content ?? "";
}

async function ask(
  gateway: TestGateway,
  input: object[],
  options: Parameters<TestGateway["post"]>[2] = {},
  more: object = {},
): Promise<void> {
  const body = { model: "up/m", stream: true, store: false, tools, input, ...more };
  const response = await gateway.post("/responses", body, options);
  expect(response.status).toBe(200);
  await response.text();
}

function sentReasoning(request: Received | undefined): unknown {
  const messages = (request?.body["messages"] ?? []) as JsonObject[];
  return messages.find(({ role }) => role === "assistant")?.["reasoning_content"];
}

describe("the reasoning of a call", () => {
  test("is sent back in its own conversation, though the client has lost it", async () => {
    const { gateway, upstream } = await reasoningScene();
    await ask(gateway, [user("Buy")], as("a"));
    await ask(gateway, [user("Buy"), call, result], as("a"));
    expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
  });

  test("is not sent with the same call id of another client, even in the same conversation", async () => {
    const { gateway, upstream } = await reasoningScene();
    await ask(gateway, [user("Buy")], as("a"));
    await ask(gateway, [user("Sell"), call, result], as("b"));
    await ask(gateway, [user("Buy"), call, result], as("b"));
    for (const request of upstream.requests.slice(1)) expect(sentReasoning(request)).toBe("");
    expect(JSON.stringify(upstream.requests.slice(1).map(({ body }) => body))).not.toContain(
      "secret",
    );
  });

  test.each([withTokens, ""])(
    "is not sent in another conversation of the same client",
    async (toml) => {
      const { gateway, upstream } = await reasoningScene(toml);
      const client = toml === "" ? {} : as("a");
      await ask(gateway, [user("Buy")], client);
      await ask(gateway, [user("Sell"), call, result], client);
      expect(sentReasoning(upstream.requests.at(-1))).toBe("");
      await ask(gateway, [user("Buy"), call, result], client);
      expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
    },
  );

  test("is not sent to a Chat client, whose history has a call of the same id", async () => {
    const { gateway, upstream } = await reasoningScene();
    await ask(gateway, [user("Buy")], as("a"));
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
      await (await gateway.post("/chat/completions", body, as(client))).text();
      expect(sentReasoning(upstream.requests.at(-1))).toBe("");
    }
  });

  test("of two conversations that go on at the same time stays in each", async () => {
    const { gateway, upstream } = await reasoningScene();
    await Promise.all(["One", "Two"].map((words) => ask(gateway, [user(words)], as("a"))));
    for (const words of ["Two", "One"]) {
      await ask(gateway, [user(words), call, result], as("a"));
      expect(sentReasoning(upstream.requests.at(-1))).toBe(`secret of ${words}`);
    }
  });

  test.each<[string, object[], object?]>([
    [
      "contents in parts",
      [{ role: "user", content: [{ type: "input_text", text: "Buy" }] }, call, result],
    ],
    ["blanks around a text", [user(" Buy\n"), call, result]],
    ["arguments written otherwise", [user("Buy"), { ...call, arguments: '{ "at": 1 }' }, result]],
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
  ])("is found although the client sends back %s", async (_what, input, more = {}) => {
    const { gateway, upstream } = await reasoningScene();
    await ask(gateway, [user("Buy")], as("a"));
    await ask(gateway, input, as("a"), more);
    expect(sentReasoning(upstream.requests.at(-1))).toBe("secret of Buy");
  });
});

describe("a digest of what precedes a call", () => {
  const digest = (items: object[], client = "a") =>
    new ConversationDigest(client, items as InputItem[]);

  test("is that of the conversation when the call was made", () => {
    const before = [user("One"), { role: "assistant", content: "Yes" }, user("Two")];
    expect(digest([...before, call, result]).before("call_0")).toBe(digest(before).end);
    expect(digest([...before, call, result], "b").before("call_0")).not.toBe(digest(before).end);
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
    ].map((items) => digest(items).end);
    expect(new Set(all).size).toBe(all.length);
  });

  test("is not given for a call id that occurs twice", () => {
    expect(digest([user("One"), call, result, user("Two"), call, result]).before("call_0")).toBe(
      undefined,
    );
  });

  test("costs little for a history of 5 MB", () => {
    const items = Array.from({ length: 1000 }, (_each, at) => [
      user(`${at} ${"x".repeat(2000)}`),
      { ...call, call_id: `call_${at}`, arguments: JSON.stringify({ text: "y".repeat(1000) }) },
      { ...result, call_id: `call_${at}`, output: "z".repeat(2000) },
    ]).flat();
    const long = digest(items);
    const spent = workTime(() => void long.before("call_999"));
    expect(long.before("call_999")).toBeDefined();
    // 13 ms when warm, 31 ms the first time; then it is looked up.
    expect(spent).toBeLessThan(300);
    expect(workTime(() => void long.end)).toBeLessThan(5);
  });
});

describe("a stored response", () => {
  test("can be gone on from by the client that made it, and by no other", async () => {
    const { gateway, upstream } = await scene(
      ({ body }, response) => answers("chat", response, body, { text: ["Paris"] }),
      { toml: withTokens },
    );
    const post = (client: "a" | "b", body: object) =>
      gateway.post("/responses", { model: "up/m", ...body }, as(client));
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
      const refused = await post("b", body);
      expect(refused.status).toBe(400);
      expect(await refused.text()).toMatch(/not found: it was not made here/);
    }
    expect(upstream.requests).toHaveLength(count);
  });
});

test("an error that quotes one client's request is not shown to another while the model is paused", async () => {
  const { gateway } = await scene(
    ({ body }, response) =>
      refuse(response, 500, { message: `cannot render "${lastWords(body)}"` }),
    { toml: withTokens, upstream: { retries: 0 } },
  );
  const post = (client: "a" | "b", input: string) =>
    gateway.post("/responses", { model: "up/m", input }, as(client));
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

test("an Idempotency-Key of one client is not that of another, with a token or without", () => {
  const keyOf = (name: string | undefined) =>
    idempotencyKey({
      request: { headers: { "idempotency-key": "1" } },
      client: name === undefined ? undefined : { name },
    } as unknown as Call);
  const keys = [keyOf("a"), keyOf("b"), keyOf(undefined)];
  expect(new Set(keys).size).toBe(3);
  expect(keyOf("a")).toBe(keys[0]);
});

describe("with two tokens and one agent", () => {
  const agents = () =>
    office([clock, clock, says("It is noon.")], { toml: `${withTokens}\n${asksFirst}` });
  const postTo = (
    { url }: TestGateway,
    path: string,
    client: "a" | "b",
    body: object,
    headers: Record<string, string> = {},
  ) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...as(client).headers, ...headers },
      body: JSON.stringify(body),
    });

  test.each([
    ["/api/tasks", "task_id", { agent: "clerk", input: "One" }, { agent: "clerk", input: "Two" }],
    ["/api/chats", "chat_id", { title: "One" }, { title: "Two" }],
  ])(
    "the same Idempotency-Key starts something else at %s for each of them",
    async (path, id, one, two) => {
      const { gateway } = await agents();
      const key = { "idempotency-key": "1" };
      const idOf = async (client: "a" | "b", body: object) => {
        const reply = await postTo(gateway, path, client, body, key);
        expect(reply.status).toBeLessThan(300);
        const made = (await reply.json()) as { chat?: JsonObject } & JsonObject;
        return (made.chat ?? made)[id];
      };
      const ofA = await idOf("a", one);
      const ofB = await idOf("b", two);
      expect(ofB).toMatch(/^(?:task|chat)_/);
      expect(ofB).not.toBe(ofA);
      expect(await idOf("a", one)).toBe(ofA);
      expect(await idOf("b", two)).toBe(ofB);
      for (const [client, body] of [["a", two] as const, ["b", one] as const])
        expect((await postTo(gateway, path, client, body, key)).status).toBe(409);
    },
  );

  test("a reply that waits for a person is found again by its client only", async () => {
    const { gateway, upstream } = await agents();
    const taskOf = async (client: "a" | "b") => {
      const reply = await gateway.post("/responses", askAgent, as(client));
      expect(await reply.text()).toContain("approval_required");
      return reply.headers.get("x-deltawire-task");
    };
    const ofA = await taskOf("a");
    const ofB = await taskOf("b");
    expect(ofB).not.toBe(ofA);
    expect([await taskOf("a"), await taskOf("b")]).toEqual([ofA, ofB]);
    expect(upstream.requests).toHaveLength(2);
  });

  test("a response of an agent can be gone on from by the client that made it only", async () => {
    const { gateway, upstream } = await office([says("It is noon.")], {
      toml: `${withTokens}\n${asksFirst}`,
    });
    const post = (client: "a" | "b", body: object) =>
      gateway.post("/responses", { ...askAgent, ...body }, as(client));
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
  "a client cannot be named %j, which may stand for another one",
  (name) => {
    const toml = `[server]\ntokens = ["token-of-nobody-0123456789"]\n[clients.${JSON.stringify(name)}]\ntoken = "${tokens.a}"\n`;
    expect(() => readConfig(toml, { file: "deltawire.toml", env: {} })).toThrow(
      /cannot be the name of a client/,
    );
  },
);
