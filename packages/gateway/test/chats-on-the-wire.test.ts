import { createChatClient, type ChatClient, type ChatSettings } from "@deltawire/tasks/chats";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { answersOf, whenSettled } from "./chat-scene.ts";
import { scene, type Scene } from "./scene.ts";
import { refuse, says, type Received } from "./scripted-upstream.ts";
import { answers } from "./wire-replies.ts";

/* What the server of a model gets of a chat, by the bytes that came to it. */

const chatsToml = "[chats]\ntitles = false\n";

async function chatAt({ gateway }: Scene, settings: ChatSettings) {
  const client = createChatClient({ base: gateway.url, fetch });
  const { chat } = await client.create({ settings });
  return { client, id: chat.chat_id };
}

async function answerTo(client: ChatClient, id: string, text: string) {
  const { version_id } = await client.send(id, { text });
  const { chat } = await whenSettled(client, id);
  const answer = answersOf(chat).find((version) => version.version_id === version_id);
  if (answer?.status !== "completed") throw new Error(JSON.stringify(answer?.error));
  return answer;
}

/** Everything up to the end of the last message, and what stands behind the list of messages. */
function cutBehindMessages({ bytes, body }: Received, field: "messages" | "input") {
  const list = Buffer.from(JSON.stringify(body[field]));
  const at = bytes.indexOf(Buffer.concat([Buffer.from(`"${field}":`), list]));
  if (at === -1) throw new Error(`there are no ${field} as they were written`);
  const end = at + `"${field}":`.length + list.length - "]".length;
  return { upToLast: bytes.subarray(0, end), behind: bytes.subarray(end).toString() };
}

describe("two messages of one day are two requests of which the second", () => {
  test.each([
    { speaks: "chat", field: "messages", first: /^\{"model":"m","messages":\[\{"role":"system"/ },
    { speaks: "responses", field: "input", first: /^\{"temperature":0,.*"input":\[\{"type"/ },
  ] as const)(
    "begins with the bytes of the first up to the end of its last message, and ends with the same bytes: $speaks",
    async ({ speaks, field, first }) => {
      vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
      onTestFinished(() => void vi.useRealTimers());
      const made = await scene(
        ({ body }, response) =>
          answers(speaks, response, body, {
            reasoning: ["Hm."],
            text: ["Yes, ", "ä 天 😀."],
            usage: { input: 9, output: 3 },
          }),
        { upstream: { speaks, models: ["m"] }, toml: chatsToml },
      );
      const { client, id } = await chatAt(made, {
        model: "up/m",
        instructions: "Mind ada@example.com.",
        tool_groups: ["time"],
        time_zone: "Europe/Berlin",
        exact_time: true,
        options: { temperature: 0 },
        privacy: { enabled: true, fields: [{ kind: "email" }] },
      });
      await answerTo(client, id, "Is it ä 天 😀, bob@example.com?");
      vi.setSystemTime(new Date("2026-03-01T21:59:59Z"));
      await answerTo(client, id, "And now?");
      const { requests } = made.upstream;
      expect(requests).toHaveLength(2);
      const [one, two] = requests.map((request) => ({
        ...cutBehindMessages(request, field),
        bytes: request.bytes,
      }));
      expect(one?.bytes.toString()).toMatch(first);
      const shared = one?.upToLast ?? Buffer.alloc(0);
      expect(two?.bytes.subarray(0, shared.length).toString()).toBe(shared.toString());
      expect(two?.bytes.subarray(shared.length).toString()).toMatch(/^,\{.*And now\?/);
      // Tools and parameters stand behind the messages on one of the wires.
      expect(two?.behind).toBe(one?.behind);
      expect(one?.bytes.toString()).toMatch(/"tools":\[/);
      expect(two?.bytes.toString()).not.toContain("@example.com");
    },
  );
});

/** What providers have beside the parameters of OpenAI, and what the generic profile does not list. */
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
  )("reach the server, all of them: $speaks, masked: $masked", async ({ speaks, masked }) => {
    const made = await scene(
      ({ body }, response) => answers(speaks, response, body, { text: ["Yes."] }),
      {
        upstream: { speaks, models: ["m"] },
        toml: chatsToml,
      },
    );
    const { client, id } = await chatAt(made, {
      model: "up/m",
      options: userOptions,
      privacy: { enabled: masked, fields: [{ kind: "email" }] },
    });
    const { notices, warnings = [] } = await answerTo(client, id, "Hi, bob@example.com");
    expect(notices).toEqual([]);
    expect(warnings.map(({ code }) => code)).not.toContain("options_left_out");
    const [request] = made.upstream.requests;
    expect(request?.bytes.toString().includes("bob@example.com")).toBe(!masked);
    const { text, ...same } = userOptions;
    expect(request?.body).toMatchObject(speaks === "chat" ? { ...same, ...text } : userOptions);
  });

  test("of the reasoning that only Chat servers know go on as they are, with the effort among them", async () => {
    const made = await scene((_request, response) => says(response, "Yes."), {
      upstream: { models: ["m"] },
      toml: chatsToml,
    });
    const reasoning = { effort: "low", max_tokens: 2000, exclude: true };
    const { client, id } = await chatAt(made, { model: "up/m", options: { reasoning } });
    await answerTo(client, id, "Hi");
    expect(made.upstream.requests[0]?.body).toMatchObject({ reasoning });
    expect(made.upstream.requests[0]?.body).not.toHaveProperty("reasoning_effort");
  });

  test("have a cache key of their own, which is no id of a task in the log", async () => {
    const made = await scene(
      ({ body }, response) => answers("responses", response, body, { text: ["Yes."] }),
      { upstream: { speaks: "responses", models: ["m"] }, toml: chatsToml },
    );
    const { client, id } = await chatAt(made, {
      model: "up/m",
      options: { prompt_cache_key: "my-own-key" },
    });
    await answerTo(client, id, "Hi");
    expect(made.upstream.requests[0]?.body).toMatchObject({ prompt_cache_key: "my-own-key" });
    expect(made.gateway.lines.filter((line) => line.includes("model round"))).toHaveLength(1);
    expect(made.gateway.lines.join("\n")).not.toContain("my-own-key");
  });

  test("and the profile drops are left out with a notice, whatever they are called", async () => {
    const made = await scene((_request, response) => says(response, "Yes."), {
      upstream: { models: ["m"] },
      toml: `${chatsToml}
[upstreams.up.flags]
dropped_parameters = ["enable_thinking"]
extra_body = { thinking_budget = 1 }
`,
    });
    const options = { enable_thinking: true, thinking_budget: 9, top_k: 3, prompt_cache_key: "k" };
    const { client, id } = await chatAt(made, { model: "up/m", options });
    const { notices } = await answerTo(client, id, "Hi");
    expect(notices).toEqual([
      "enable_thinking is not taken by up/m: left out",
      "thinking_budget is not taken by up/m: left out",
      "prompt_cache_key is not taken by up/m: left out",
    ]);
    const { body } = made.upstream.requests[0] ?? {};
    expect(body).toMatchObject({ top_k: 3, thinking_budget: 1 });
    expect(body).not.toHaveProperty("enable_thinking");
  });
});

describe("an option that the server refuses", () => {
  test.each(
    (["seed", "enable_thinking"] as const).flatMap((option) =>
      (["chat", "responses"] as const).map((speaks) => ({ option, speaks })),
    ),
  )(
    "is left out and named with the answer, also later: $option, $speaks",
    async ({ option, speaks }) => {
      const made = await scene(
        ({ body }, response) => {
          if (option in body) refuse(response, 400, { message: `Unknown parameter: '${option}'.` });
          else answers(speaks, response, body, { text: ["Yes."] });
        },
        { upstream: { speaks, models: ["m"] }, toml: chatsToml },
      );
      const { client, id } = await chatAt(made, { model: "up/m", options: { [option]: 7 } });
      const mended = await answerTo(client, id, "One");
      expect(mended.notices).toEqual([]);
      expect(mended.warnings).toContainEqual({
        code: "model_retried",
        message: expect.stringMatching(/^asked 2 times, the last time up; learned: /) as string,
        count: 1,
      });
      expect(mended.warnings).toContainEqual({
        code: "options_left_out",
        message: `${option} is not taken by up: left out`,
        count: 1,
      });
      const { models } = await client.choices();
      expect(models.find(({ name }) => name === "up/m")?.refuses).toContain(option);
      const later = await answerTo(client, id, "Two");
      expect(later.notices).toEqual([`${option} is not taken by up/m: left out`]);
      const codes = later.warnings?.map(({ code }) => code) ?? [];
      expect(codes).not.toContain("model_retried");
      expect(codes).not.toContain("options_left_out");
      expect(made.upstream.requests.map(({ body }) => option in body)).toEqual([
        true,
        false,
        false,
      ]);
    },
  );
});
