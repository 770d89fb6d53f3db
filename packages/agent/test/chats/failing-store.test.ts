import { describe, expect, test } from "vitest";
import {
  answerIn,
  chatOf,
  ended,
  newChat,
  pathWords,
  said,
  sendAndEnd,
  until,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { never, silent } from "../../../../test/chats/scripted-replies.ts";

/** A gateway that was killed between the slot of a question and the start of its task. */
async function killedAtTheSlot(
  world: StoredChatFixture,
  later: Parameters<StoredChatFixture["killed"]>[0],
) {
  const chat = await newChat(world);
  const slotted = new Promise<StoredChatFixture>((resolve) => {
    world.chats.subscribe(({ type }) => {
      if (type === "chat.changed") resolve(world.killed(later));
    });
  });
  const asked = { text: "Go", task_id: "task_promised" };
  const { node_id } = await world.chats.send(chat, asked);
  return { chat, asked, node_id, later: await slotted };
}

describe("a stop that could not be kept", () => {
  test("is told as that: the answer runs on, and can be stopped again", async () => {
    const world = await chatFixture({
      fails: true,
      script: silent,
      failOnce: { method: "append", when: (given) => given.includes("task.canceled") },
    });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "One" });
    await said(world, sent, "Beginning");
    await expect(world.chats.stop(chat)).rejects.toThrow(/no room/);
    const [version] = answerIn(await chatOf(world, chat), sent.node_id).versions;
    expect(version?.status).toBe("running");
    await world.chats.stop(chat);
    expect((await ended(world, sent)).status).toBe("aborted");
  });
});

test("what an edit answers has running answers as far as they have come", async () => {
  const world = await chatFixture({ script: silent });
  const chat = await newChat(world);
  const sent = await world.chats.send(chat, { text: "One" });
  await said(world, sent, "Beginning");
  const { node_id } = sent;
  const { after } = await world.chats.edit(chat, [{ type: "pin", node_id, value: true }]);
  expect(JSON.stringify(after.chat.nodes[node_id])).toContain("Beginning");
  await world.chats.stop(chat);
});

describe("a question whose task was promised and never begun", () => {
  test("is asked when it comes again with the same promise, and its message is there once", async () => {
    const world = await chatFixture({ files: true, script: () => [{ wait: never }] });
    const { chat, asked, node_id, later } = await killedAtTheSlot(world, {
      script: [[{ text: "Now" }]],
    });
    const sent = await later.chats.send(chat, asked);
    expect(sent.node_id).toBe(node_id);
    expect((await ended(later, sent)).status).toBe("completed");
    expect(await pathWords(later, chat)).toEqual(["Go", "Now"]);
    expect(later.models.bodies).toHaveLength(1);
    expect((await later.chats.send(chat, asked)).version_id).toBe(sent.version_id);
  });

  test("is asked also where it names the revision that it has raised itself", async () => {
    const world = await chatFixture({ files: true, script: () => [{ wait: never }] });
    const { chat, asked, later } = await killedAtTheSlot(world, { script: [[{ text: "Now" }]] });
    const sent = await later.chats.send(chat, { ...asked, revision: 0 });
    expect((await ended(later, sent)).status).toBe("completed");
  });

  test("is not asked while its message is hidden", async () => {
    const world = await chatFixture({ files: true, script: () => [{ wait: never }] });
    const { chat, asked, node_id, later } = await killedAtTheSlot(world, {});
    const { nodes } = await chatOf(later, chat);
    const message = nodes[node_id]?.parent ?? "";
    await later.chats.edit(chat, [{ type: "hide", node_id: message, value: true }]);
    await expect(later.chats.send(chat, asked)).rejects.toThrow(/hidden/);
    expect(later.models.bodies).toEqual([]);
  });

  test("ends as interrupted, also if that could not be kept at first", async () => {
    const world = await chatFixture({ files: true, script: () => [{ wait: never }] });
    const { chat, node_id, later } = await killedAtTheSlot(world, {
      fails: true,
      failOnce: { method: "saveChat", when: (given) => given.includes("interrupted") },
    });
    const failed = await until(later, chat, (one) => {
      const [version] = answerIn(one, node_id).versions;
      return version?.status === "error" && version;
    });
    expect(failed.error?.code).toBe("interrupted");
  });
});

test("a chat that is deleted beside a send has nothing running in it", async () => {
  for (const forever of [false, true]) {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    const first = await world.chats.send(chat, { text: "One" });
    await said(world, first, "Beginning");
    const [, sent] = await Promise.allSettled([
      world.chats.remove(chat, { forever }),
      world.chats.send(chat, { text: "Two", parent: null }),
    ]);
    const kept = await world.store.chat(chat);
    expect(kept === undefined).toBe(forever);
    const versions = Object.values(kept?.chat.nodes ?? {}).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    expect(versions.filter(({ status }) => status === "running")).toEqual([]);
    expect(await world.store.unfinished()).toEqual([]);
    const refused =
      sent?.status === "rejected" ? (sent.reason as { code: string }).code : undefined;
    expect([undefined, "unknown_chat"]).toContain(refused);
  }
});

test("a gateway that ends while a chat is being named leaves it to be named later", async () => {
  const world = await chatFixture({
    files: true,
    settings: { title_model: "up/namer" },
    defaults: { titles: true },
    script: ({ model }) => (model === "up/namer" ? [{ wait: never }] : [{ text: "An answer." }]),
  });
  const chat = await newChat(world);
  await sendAndEnd(world, chat, "How is bread made?");
  while (!world.models.asked.some(({ model }) => model === "up/namer"))
    await new Promise((resolve) => setTimeout(resolve, 5));
  await world.close();
  const later = await world.killed({
    script: ({ model }) => [{ text: model === "up/namer" ? "Bread" : "Another." }],
  });
  expect(await chatOf(later, chat)).toMatchObject({ title: "", title_by: "nobody" });
  await sendAndEnd(later, chat, "And?");
  await until(later, chat, (one) => one.title === "Bread" && one);
});
