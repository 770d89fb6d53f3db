import { ModelError } from "@deltawire/agent";
import { expect, test } from "vitest";
import { chatOf, newChat, sendAndEnd, until } from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { never, type Script } from "../../../../test/chats/scripted-replies.ts";

const titled = { settings: { title_model: "up/namer" }, defaults: { titles: true } };

const named =
  (title: string): Script =>
  ({ model }) => [{ text: model === "up/namer" ? title : "An answer." }];

test("a model names a chat after its first answer, and never again", async () => {
  const world = await chatFixture({ ...titled, script: named('**"Bread and Butter."**') });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "How is bread made?");
  const { title, extra_usage, revision } = await until(
    world,
    chat,
    (one) => one.title_by === "model" && one,
  );
  expect(title).toBe("Bread and Butter");
  expect(extra_usage).toMatchObject({ total_tokens: 15 });
  await sendAndEnd(world, chat, "And butter?");
  await world.close();
  const asked = world.models.asked.filter(({ model }) => model === "up/namer");
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(asked)).toContain("How is bread made?");
  expect(asked[0]?.max_output_tokens).toBeLessThanOrEqual(1_000);
  expect(revision).toBeGreaterThan(0);
});

test("a chat that somebody has named keeps its name", async () => {
  const world = await chatFixture({ ...titled, script: named("Another") });
  const { chat } = await world.chats.create({ title: "Mine" });
  await sendAndEnd(world, chat.chat_id, "Hi");
  expect(world.models.asked.map(({ model }) => model)).toEqual(["talker"]);
  expect(await chatOf(world, chat.chat_id)).toMatchObject({ title: "Mine", title_by: "user" });
});

test("a name that somebody gives while the model thinks of one stays", async () => {
  const slow = Promise.withResolvers<void>();
  const world = await chatFixture({
    ...titled,
    script: ({ model }) =>
      model === "up/namer"
        ? [{ wait: slow.promise }, { text: "Of the model" }]
        : [{ text: "An answer." }],
  });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "Hi");
  await world.chats.edit(chat, [{ type: "rename", title: "Mine" }]);
  slow.resolve();
  while (world.models.open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await chatOf(world, chat)).toMatchObject({ title: "Mine", title_by: "user" });
});

test("where no model can be asked the first words are the name", async () => {
  const world = await chatFixture({
    ...titled,
    fails: true,
    script: ({ model }) =>
      model === "up/namer"
        ? [{ error: new ModelError("unauthorized", "no key") }]
        : [{ text: "An answer." }],
  });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "# How is bread made?\nI mean good bread.");
  expect(await until(world, chat, ({ title }) => title !== "" && title)).toBe("How is bread made?");
});

test("an answer that failed gives no name; the next one does", async () => {
  const world = await chatFixture({
    ...titled,
    script: [
      [{ error: new ModelError("invalid_request", "no") }],
      [{ text: "Now." }],
      [{ text: "A Name" }],
    ],
  });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "Hi");
  expect((await chatOf(world, chat)).title_by).toBe("nobody");
  await sendAndEnd(world, chat, "Hi again");
  expect(await until(world, chat, ({ title }) => title !== "" && title)).toBe("A Name");
});

test("nobody is asked for names where they are switched off", async () => {
  const world = await chatFixture({ script: named("x") });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "Hi");
  await world.close();
  expect(world.models.bodies).toHaveLength(1);
});

test("a model that never answers does not keep the gateway from ending", async () => {
  const world = await chatFixture({
    ...titled,
    script: ({ model }) => [model === "up/namer" ? { wait: never } : { text: "An answer." }],
  });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "Hi");
  await world.close();
  expect(world.models.open).toBe(0);
});

test("a title that the model has cut in the middle of a placeholder ends before it", async () => {
  const world = await chatFixture({ ...titled, script: named("Mail to {{EMAI") });
  const fields = [{ kind: "email" as const }];
  const chat = await newChat(world, { privacy: { enabled: true, fields } });
  await sendAndEnd(world, chat, "Write to ada@example.com");
  const { title } = await until(world, chat, (one) => one.title_by === "model" && one);
  expect(title).toBe("Mail to");
});
