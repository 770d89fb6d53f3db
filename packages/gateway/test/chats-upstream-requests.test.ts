import { createChatClient, type ChatClient, type ChatSettings } from "@deltawire/tasks/chats";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { listAnswers, waitUntilSettled } from "./chat-fixture.ts";
import { gatewayFixture, type GatewayFixture } from "./gateway-fixture.ts";
import { sendError, streamText, type ReceivedRequest } from "./scripted-upstream.ts";
import { sendReply } from "./wire-replies.ts";

/* The requests of a chat that reach the model's server, byte by byte. */

const chatsToml = "[chats]\ntitles = false\n";

async function createChat({ gateway }: GatewayFixture, settings: ChatSettings) {
  const client = createChatClient({ baseUrl: gateway.url, fetch });
  const { chat } = await client.create({ settings });
  return { client, id: chat.chat_id };
}

async function sendAndWait(client: ChatClient, id: string, text: string) {
  const { version_id } = await client.send(id, { text });
  const { chat } = await waitUntilSettled(client, id);
  const answer = listAnswers(chat).find((version) => version.version_id === version_id);
  if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
  return answer;
}

/** Splits a body at the end of the last message. */
function splitAfterMessages({ bytes, body }: ReceivedRequest, field: "messages" | "input") {
  const list = Buffer.from(JSON.stringify(body[field]));
  const index = bytes.indexOf(Buffer.concat([Buffer.from(`"${field}":`), list]));
  if (index === -1) throw new Error(`there are no ${field} as they were written`);
  const end = index + `"${field}":`.length + list.length - "]".length;
  return { upToLast: bytes.subarray(0, end), afterMessages: bytes.subarray(end).toString() };
}

describe("the request of the second of two messages on the same day", () => {
  test.each([
    { speaks: "chat", field: "messages", first: /^\{"model":"m","messages":\[\{"role":"system"/ },
    { speaks: "responses", field: "input", first: /^\{"temperature":0,.*"input":\[\{"type"/ },
  ] as const)(
    "repeats the bytes of the first request up to its last message, and ends with the same bytes: $speaks",
    async ({ speaks, field, first }) => {
      vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
      onTestFinished(() => void vi.useRealTimers());
      const fixture = await gatewayFixture(
        ({ body }, response) =>
          sendReply(speaks, response, body, {
            reasoning: ["Hm."],
            text: ["Yes, ", "ä 天 😀."],
            usage: { input: 9, output: 3 },
          }),
        { upstream: { speaks, models: ["m"] }, toml: chatsToml },
      );
      const { client, id } = await createChat(fixture, {
        model: "up/m",
        instructions: "Mind ada@example.com.",
        tool_groups: ["time"],
        time_zone: "Europe/Berlin",
        message_times: true,
        options: { temperature: 0 },
        privacy: { enabled: true, fields: [{ kind: "email" }] },
      });
      await sendAndWait(client, id, "Is it ä 天 😀, bob@example.com?");
      vi.setSystemTime(new Date("2026-03-01T21:59:59Z"));
      await sendAndWait(client, id, "And now?");
      const { requests } = fixture.upstream;
      expect(requests).toHaveLength(2);
      const [one, two] = requests.map((request) => ({
        ...splitAfterMessages(request, field),
        bytes: request.bytes,
      }));
      expect(one?.bytes.toString()).toMatch(first);
      const shared = one?.upToLast ?? Buffer.alloc(0);
      expect(two?.bytes.subarray(0, shared.length).toString()).toBe(shared.toString());
      expect(two?.bytes.subarray(shared.length).toString()).toMatch(/^,\{.*And now\?/);
      // In one of the APIs tools and parameters come after the messages.
      expect(two?.afterMessages).toBe(one?.afterMessages);
      expect(one?.bytes.toString()).toMatch(/"tools":\[/);
      expect(two?.bytes.toString()).not.toContain("@example.com");
    },
  );
});

/** Parameters of providers in addition to OpenAI's, which the generic profile does not list. */
const userOptions = {
  enable_thinking: false,
  thinking: { type: "enabled" },
  thinking_budget: 512,
  chat_template_kwargs: { enable_thinking: false },
  top_k: 20,
  min_p: 0.1,
  logit_bias: { "50256": -100 },
  user: "ada",
  service_tier: "flex",
  safety_identifier: "a1",
  metadata: { project: "p1" },
  text: { verbosity: "low" },
  made_up: [1, { a: "b" }],
};

describe("options that a user has set", () => {
  test.each(
    (["chat", "responses"] as const).flatMap((speaks) =>
      [false, true].map((masked) => ({ speaks, masked })),
    ),
  )("all reach the server: $speaks, masked: $masked", async ({ speaks, masked }) => {
    const fixture = await gatewayFixture(
      ({ body }, response) => sendReply(speaks, response, body, { text: ["Yes."] }),
      {
        upstream: { speaks, models: ["m"] },
        toml: chatsToml,
      },
    );
    const { client, id } = await createChat(fixture, {
      model: "up/m",
      options: userOptions,
      privacy: { enabled: masked, fields: [{ kind: "email" }] },
    });
    const { notices, warnings = [] } = await sendAndWait(client, id, "Hi, bob@example.com");
    expect(notices).toEqual([]);
    expect(warnings.map(({ code }) => code)).not.toContain("options_dropped");
    const [request] = fixture.upstream.requests;
    expect(request?.bytes.toString().includes("bob@example.com")).toBe(!masked);
    const { text, ...same } = userOptions;
    expect(request?.body).toMatchObject(speaks === "chat" ? { ...same, ...text } : userOptions);
  });

  test("for reasoning that only Chat servers support are sent unchanged, including the effort", async () => {
    const fixture = await gatewayFixture((_request, response) => streamText(response, "Yes."), {
      upstream: { models: ["m"] },
      toml: chatsToml,
    });
    const reasoning = { effort: "low", max_tokens: 2000, exclude: true };
    const { client, id } = await createChat(fixture, { model: "up/m", options: { reasoning } });
    await sendAndWait(client, id, "Hi");
    expect(fixture.upstream.requests[0]?.body).toMatchObject({ reasoning });
    expect(fixture.upstream.requests[0]?.body).not.toHaveProperty("reasoning_effort");
  });

  test("can replace the cache key, which is then not logged as the task id", async () => {
    const fixture = await gatewayFixture(
      ({ body }, response) => sendReply("responses", response, body, { text: ["Yes."] }),
      { upstream: { speaks: "responses", models: ["m"] }, toml: chatsToml },
    );
    const { client, id } = await createChat(fixture, {
      model: "up/m",
      options: { prompt_cache_key: "my-own-key" },
    });
    await sendAndWait(client, id, "Hi");
    expect(fixture.upstream.requests[0]?.body).toMatchObject({ prompt_cache_key: "my-own-key" });
    expect(fixture.gateway.lines.filter((line) => line.includes("model round"))).toHaveLength(1);
    expect(fixture.gateway.lines.join("\n")).not.toContain("my-own-key");
  });

  test("that the profile drops or replaces are not sent as set, and a notice names them", async () => {
    const fixture = await gatewayFixture((_request, response) => streamText(response, "Yes."), {
      upstream: { models: ["m"] },
      toml: `${chatsToml}
[upstreams.up.flags]
dropped_parameters = ["enable_thinking"]
extra_body = { thinking_budget = 1 }
`,
    });
    const options = { enable_thinking: true, thinking_budget: 9, top_k: 3, prompt_cache_key: "k" };
    const { client, id } = await createChat(fixture, { model: "up/m", options });
    const { notices } = await sendAndWait(client, id, "Hi");
    expect(notices).toEqual([
      "enable_thinking is not supported by up/m and was not sent",
      "thinking_budget is not supported by up/m and was not sent",
      "prompt_cache_key is not supported by up/m and was not sent",
    ]);
    const { body } = fixture.upstream.requests[0] ?? {};
    expect(body).toMatchObject({ top_k: 3, thinking_budget: 1 });
    expect(body).not.toHaveProperty("enable_thinking");
  });
});

describe("an option that the server rejects", () => {
  test.each(
    (["seed", "enable_thinking"] as const).flatMap((option) =>
      (["chat", "responses"] as const).map((speaks) => ({ option, speaks })),
    ),
  )(
    "is omitted from then on and named in a notice: $option, $speaks",
    async ({ option, speaks }) => {
      const fixture = await gatewayFixture(
        ({ body }, response) => {
          if (option in body)
            sendError(response, 400, { message: `Unknown parameter: '${option}'.` });
          else sendReply(speaks, response, body, { text: ["Yes."] });
        },
        { upstream: { speaks, models: ["m"] }, toml: chatsToml },
      );
      const { client, id } = await createChat(fixture, { model: "up/m", options: { [option]: 7 } });
      const firstAnswer = await sendAndWait(client, id, "One");
      expect(firstAnswer.notices).toEqual([]);
      expect(firstAnswer.warnings).toContainEqual({
        code: "model_retried",
        message: expect.stringMatching(/^2 attempts \(last upstream: up\); learned: /) as string,
        count: 1,
      });
      expect(firstAnswer.warnings).toContainEqual({
        code: "options_dropped",
        message: `${option} is not supported by up and was not sent`,
        count: 1,
      });
      const { models } = await client.choices();
      expect(models.find(({ name }) => name === "up/m")?.unsupported_options).toContain(option);
      const later = await sendAndWait(client, id, "Two");
      expect(later.notices).toEqual([`${option} is not supported by up/m and was not sent`]);
      const codes = later.warnings?.map(({ code }) => code) ?? [];
      expect(codes).not.toContain("model_retried");
      expect(codes).not.toContain("options_dropped");
      expect(fixture.upstream.requests.map(({ body }) => option in body)).toEqual([
        true,
        false,
        false,
      ]);
    },
  );
});
