import { ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  readChat,
  createTestChat,
  sendAndWait,
  waitForChat,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { neverResolves, type ModelScript } from "../../../../test/chats/scripted-models.ts";

const withTitles = { settings: { title_model: "up/namer" }, defaults: { generateTitles: true } };

const createTitleScript =
  (title: string): ModelScript =>
  ({ model }) => [{ text: model === "up/namer" ? title : "An answer." }];

test("a model generates the title of a chat after its first answer, and never again", async () => {
  const fixture = await chatFixture({
    ...withTitles,
    script: createTitleScript('**"Bread and Butter."**'),
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "How is bread made?");
  const { title, extra_usage, revision } = await waitForChat(
    fixture,
    chat,
    (one) => one.title_by === "model" && one,
  );
  expect(title).toBe("Bread and Butter");
  expect(extra_usage).toMatchObject({ total_tokens: 15 });
  await sendAndWait(fixture, chat, "And butter?");
  await fixture.close();
  const titleRequests = fixture.models.requests.filter(({ model }) => model === "up/namer");
  expect(titleRequests).toHaveLength(1);
  expect(JSON.stringify(titleRequests)).toContain("How is bread made?");
  expect(titleRequests[0]?.max_output_tokens).toBeLessThanOrEqual(1_000);
  expect(revision).toBeGreaterThan(0);
});

test("a title that a user has set is not replaced", async () => {
  const fixture = await chatFixture({ ...withTitles, script: createTitleScript("Another") });
  const { chat } = await fixture.chats.create({ title: "Mine" });
  await sendAndWait(fixture, chat.chat_id, "Hi");
  expect(fixture.models.requests.map(({ model }) => model)).toEqual(["talker"]);
  expect(await readChat(fixture, chat.chat_id)).toMatchObject({ title: "Mine", title_by: "user" });
});

test("a title that a user sets while one is being generated is not replaced", async () => {
  const slow = Promise.withResolvers<void>();
  const fixture = await chatFixture({
    ...withTitles,
    script: ({ model }) =>
      model === "up/namer"
        ? [{ wait: slow.promise }, { text: "Of the model" }]
        : [{ text: "An answer." }],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "Hi");
  await fixture.chats.edit(chat, [{ type: "rename", title: "Mine" }]);
  slow.resolve();
  while (fixture.models.openReplies > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await readChat(fixture, chat)).toMatchObject({ title: "Mine", title_by: "user" });
});

test("if the title model fails, the title is the start of the first message", async () => {
  const fixture = await chatFixture({
    ...withTitles,
    expectsFailures: true,
    script: ({ model }) =>
      model === "up/namer"
        ? [{ error: new ModelError("unauthorized", "no key") }]
        : [{ text: "An answer." }],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "# How is bread made?\nI mean good bread.");
  expect(await waitForChat(fixture, chat, ({ title }) => title !== "" && title)).toBe(
    "How is bread made?",
  );
});

test("no title is generated after a failed answer, but after the next successful one", async () => {
  const fixture = await chatFixture({
    ...withTitles,
    script: [
      [{ error: new ModelError("invalid_request", "no") }],
      [{ text: "Now." }],
      [{ text: "A Name" }],
    ],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "Hi");
  expect((await readChat(fixture, chat)).title_by).toBe("nobody");
  await sendAndWait(fixture, chat, "Hi again");
  expect(await waitForChat(fixture, chat, ({ title }) => title !== "" && title)).toBe("A Name");
});

test("no title is generated if titles are turned off", async () => {
  const fixture = await chatFixture({ script: createTitleScript("x") });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "Hi");
  await fixture.close();
  expect(fixture.models.bodies).toHaveLength(1);
});

test("a title model that never answers does not prevent the shutdown of the gateway", async () => {
  const fixture = await chatFixture({
    ...withTitles,
    script: ({ model }) => [
      model === "up/namer" ? { wait: neverResolves } : { text: "An answer." },
    ],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "Hi");
  await fixture.close();
  expect(fixture.models.openReplies).toBe(0);
});

test("a title that was being generated when the process was killed is generated after the restart", async () => {
  const fixture = await chatFixture({
    ...withTitles,
    files: true,
    script: ({ model }) => [
      model === "up/namer" ? { wait: neverResolves } : { text: "An answer." },
    ],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "How is bread made?");
  await expect.poll(() => fixture.models.openReplies).toBe(1);
  const restarted = await fixture.restartAfterKill({ script: createTitleScript("Bread") });
  expect(await waitForChat(restarted, chat, ({ title }) => title !== "" && title)).toBe("Bread");
});

test("a title that ends within a placeholder is truncated before it", async () => {
  const fixture = await chatFixture({ ...withTitles, script: createTitleScript("Mail to {{EMAI") });
  const fields = [{ kind: "email" as const }];
  const chat = await createTestChat(fixture, { privacy: { enabled: true, fields } });
  await sendAndWait(fixture, chat, "Write to ada@example.com");
  const { title } = await waitForChat(fixture, chat, (one) => one.title_by === "model" && one);
  expect(title).toBe("Mail to");
});

describe("with access keys", () => {
  test("a title counts toward the key of the newest answer", async () => {
    const metered: string[] = [];
    const fixture = await chatFixture({
      ...withTitles,
      onMeteredModel: (name, accessKey) => metered.push(`${name} ${accessKey}`),
      script: ({ model, input }) => {
        if (model === "up/namer") return [{ text: "A Name" }];
        return input.length > 1
          ? [{ text: "Now." }]
          : [{ error: new ModelError("invalid_request", "no") }];
      },
    });
    const { chat } = await fixture.chats.create({}, { owner: "ann" });
    await sendAndWait(fixture, chat.chat_id, "Hi", { access_key: "key_1" });
    await sendAndWait(fixture, chat.chat_id, "Hi again", { access_key: "key_2" });
    await waitForChat(fixture, chat.chat_id, ({ title }) => title === "A Name");
    expect(metered).toEqual(["up/namer key_2"]);
  });

  test("a title never counts toward the key of another owner, whose answer an imported file contains", async () => {
    const metered: string[] = [];
    const fixture = await chatFixture({
      ...withTitles,
      script: createTitleScript("A Name"),
      onMeteredModel: (name, accessKey) => metered.push(`${name} ${accessKey}`),
    });
    const { chat: original } = await fixture.chats.create({}, { owner: "ann" });
    const { task_id = "" } = await sendAndWait(fixture, original.chat_id, "Hello there", {
      access_key: "key_1",
    });
    await waitForChat(fixture, original.chat_id, ({ title }) => title === "A Name");
    const { text } = await fixture.chats.exportAs(original.chat_id, "json");
    const changedText = text
      .replaceAll(/"created_at": "\d{4}/g, '"created_at": "2999')
      .replace('"title": "A Name"', '"title": ""')
      .replace('"title_by": "model"', '"title_by": "nobody"');
    expect(changedText).toContain(`"task_id": "${task_id}"`);
    const [copy] = await fixture.chats.importFrom(JSON.parse(changedText), { owner: "bob" });
    const chatId = copy?.chat.chat_id ?? "";
    await sendAndWait(fixture, chatId, "More", { access_key: "key_2" });
    expect(await waitForChat(fixture, chatId, ({ title }) => title !== "" && title)).toBe(
      "Hello there",
    );
    expect(metered).toEqual(["up/namer key_1"]);
  });
});
