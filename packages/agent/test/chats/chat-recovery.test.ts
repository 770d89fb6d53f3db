import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  answerIn,
  chatOf,
  decide,
  ended,
  newChat,
  pathWords,
  question,
  said,
  sendAndEnd,
  told,
  until,
  type Answer,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { office } from "../../../../test/chats/office.ts";
import { never } from "../../../../test/chats/scripted-replies.ts";

const withOffice = { tool_groups: ["office"] };

/** A gateway that does not get to write what its tasks came to. */
async function beforeItsEndIsWritten(
  world: StoredChatFixture,
  { task_id }: Answer,
): Promise<StoredChatFixture> {
  const died = Promise.withResolvers<StoredChatFixture>();
  // Told of the end as the chat is, at the same moment.
  world.runtime.subscribe(task_id, (_entries, { tasks }) => {
    if (tasks[task_id]?.status === "completed") died.resolve(world.killed());
  });
  return died.promise;
}

describe("a gateway that is killed", () => {
  test("while a model speaks goes on with the answer, and there is one", async () => {
    const world = await chatFixture({
      files: true,
      groups: [office().group],
      script: [[{ call: "say", args: { text: "a" } }], [{ text: "Half of it" }, { wait: never }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await said(world, sent, "Half");
    const later = await world.killed({ script: [[{ text: "The whole." }]] });
    const answer = await ended(later, sent);
    expect(answer).toMatchObject({ status: "completed", chain: { calls: [{ name: "say" }] } });
    expect(answerIn(await chatOf(later, chat), sent.node_id).versions).toHaveLength(1);
    expect((await pathWords(later, chat)).at(-1)).toContain("The whole.");
    later.models.say([[{ text: "Yes" }]]);
    await sendAndEnd(later, chat, "And?");
    expect(told(later).slice(0, 3)).toEqual(["user: Go", 'say {"text":"a"}', '=> "said: a"']);
  });

  test("between the slot and the start of its task says that the model was not asked", async () => {
    const world = await chatFixture({ files: true, script: () => [{ wait: never }] });
    const chat = await newChat(world);
    const slotted = new Promise<StoredChatFixture>((resolve) => {
      world.chats.subscribe(({ type }) => {
        if (type === "chat.changed") resolve(world.killed({ script: [[{ text: "Now" }]] }));
      });
    });
    const sent = await world.chats.send(chat, { text: "Go" });
    const later = await slotted;
    const [version] = answerIn(await chatOf(later, chat), sent.node_id).versions;
    expect(version).toMatchObject({
      status: "error",
      error: { phase: "model", code: "interrupted" },
    });
    expect(later.models.bodies).toEqual([]);
    await ended(later, await later.chats.rerun(chat, { node_id: sent.node_id }));
    expect(await pathWords(later, chat)).toEqual(["Go", "Now"]);
  });

  test("after the end of a task and before that was written has the answer afterwards, once", async () => {
    const go = Promise.withResolvers<void>();
    const world = await chatFixture({
      files: true,
      script: [[{ text: "All" }, { wait: go.promise }, { text: " of it" }]],
    });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    const dying = beforeItsEndIsWritten(world, sent);
    go.resolve();
    const later = await dying;
    const { versions } = answerIn(await chatOf(later, chat), sent.node_id);
    expect(versions).toMatchObject([{ status: "completed", usage: { total_tokens: 15 } }]);
    expect(later.models.bodies).toEqual([]);
    later.models.say([[{ text: "Yes" }]]);
    await sendAndEnd(later, chat, "And?");
    expect(told(later)).toEqual(["user: Go", "assistant: All", "assistant:  of it", "user: And?"]);
  });

  test("while a person is asked asks again, and says so for as long as it waits", async () => {
    const world = await chatFixture({
      files: true,
      groups: [office().group],
      script: [[{ call: "ask_first", args: {} }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await question(world, sent);
    await until(world, chat, ({ nodes }) => JSON.stringify(nodes).includes('"waiting":true'));
    const later = await world.killed({ script: [[{ wait: never }]] });
    const waiting = async (): Promise<unknown> =>
      answerIn(await chatOf(later, chat), sent.node_id).versions[0]?.waiting;
    expect(await waiting()).toBe(true);
    await decide(later, sent, "approve");
    await until(later, chat, ({ nodes }) => !JSON.stringify(nodes).includes('"waiting":true'));
    expect((await later.store.listChats({ limit: 1 }))[0]).toMatchObject({
      running: 1,
      waiting: 0,
    });
    await later.chats.stop(chat);
    expect((await ended(later, sent)).status).toBe("aborted");
  });

  test("may be told to stop what it was doing", async () => {
    const world = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: never }],
    });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    await said(world, sent, "So");
    const later = await world.killed();
    await later.chats.stop(chat);
    expect(await ended(later, sent)).toMatchObject({ status: "aborted" });
    expect(await later.store.unfinished()).toEqual([]);
  });

  test("may be told to stop what it can no longer go on with, as its tools are gone", async () => {
    const world = await chatFixture({
      files: true,
      groups: [office().group],
      script: [[{ text: "Look:" }, { call: "ask_first", args: {} }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await question(world, sent);
    const later = await world.killed({ groups: [], fails: true });
    expect(await later.store.runningAnswers()).toHaveLength(1);
    await later.chats.stop(chat);
    expect(await ended(later, sent)).toMatchObject({ status: "aborted" });
    expect((await pathWords(later, chat)).at(-1)).toBe("Look:");
  });

  test("and finds a task that cannot be read goes on with the others, and still shows its chat", async () => {
    const world = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: never }],
    });
    const [broken, sound] = [await newChat(world), await newChat(world)];
    await world.chats.send(broken, { text: "Go", task_id: "task_broken" });
    const sent = await world.chats.send(sound, { text: "Go" });
    await world.close();
    const db = new DatabaseSync(join(world.folder ?? "", "deltawire.db"));
    db.exec(
      "UPDATE events SET json = '{' WHERE root = (SELECT number FROM tasks WHERE task_id = 'task_broken')",
    );
    db.close();
    const later = await world.killed({ fails: true, script: [[{ text: "Done" }]] });
    expect((await ended(later, sent)).status).toBe("completed");
    expect((await later.chats.open(broken))?.chat.nodes).not.toEqual({});
    expect(later.failures.join("\n")).toMatch(/could not be taken up/);
  });

  test("does not start to answer what is sent twice with one promise", async () => {
    const world = await chatFixture({ files: true, script: [[{ text: "Once" }]] });
    const chat = await newChat(world);
    const request = { text: "Go", task_id: "task_promised" };
    await ended(world, await world.chats.send(chat, request));
    const later = await world.killed();
    await later.chats.send(chat, request);
    expect(await pathWords(later, chat)).toEqual(["Go", "Once"]);
    expect(later.models.bodies).toEqual([]);
  });
});

describe("a gateway that ends", () => {
  test("while an answer runs leaves it to the next", async () => {
    const world = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: never }],
    });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    await world.close();
    const later = await world.killed({ script: [[{ text: "Done" }]] });
    expect((await ended(later, sent)).status).toBe("completed");
    expect((await pathWords(later, chat)).at(-1)).toContain("Done");
  });

  test("at any moment of an answer leaves a chat that comes to its end", async () => {
    for (let wait = 0; wait < 12; wait += 1) {
      const script = [[{ text: ["O", "n", "e"] }], [{ text: "Two" }]];
      const world = await chatFixture({ files: true, fails: true, script });
      const chat = await newChat(world);
      const sending = world.chats.send(chat, { text: "Go" }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, wait / 2));
      await world.close();
      const sent = await sending;
      const later = await world.killed({ script: [[{ text: "Later" }]] });
      if (sent === undefined) continue;
      const { status } = await ended(later, sent);
      expect(["completed", "error"]).toContain(status);
      expect(answerIn(await chatOf(later, chat), sent.node_id).versions).toHaveLength(1);
    }
  });
});

describe("a chat that is removed while it is answered", () => {
  test("is stopped first, and has what was said when it is restored", async () => {
    const world = await chatFixture({ script: () => [{ text: "So far" }, { wait: never }] });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    await said(world, sent, "So far");
    await world.chats.remove(chat);
    expect(await world.store.unfinished()).toEqual([]);
    await expect(world.chats.send(chat, { text: "More" })).rejects.toThrow(/deleted/);
    await world.chats.restore(chat);
    expect(await pathWords(world, chat)).toEqual(["Go", "So far"]);
  });

  test("for good leaves nothing that runs", async () => {
    const world = await chatFixture({ script: () => [{ text: "So far" }, { wait: never }] });
    const chat = await newChat(world);
    const sending = world.chats.send(chat, { text: "Go" });
    await new Promise<void>((resolve) => void world.chats.subscribe(() => resolve()));
    await world.chats.remove(chat, { forever: true });
    await sending;
    expect(await world.store.chat(chat)).toBeUndefined();
    expect(await world.store.unfinished()).toEqual([]);
    expect(world.models.open).toBe(0);
  });

  test("node by node is refused while it runs", async () => {
    const world = await chatFixture({ script: () => [{ wait: never }] });
    const chat = await newChat(world);
    const { node_id } = await world.chats.send(chat, { text: "Go" });
    const edit = { type: "delete_node", node_id, children: "delete" } as const;
    await expect(world.chats.edit(chat, [edit])).rejects.toMatchObject({ code: "still_running" });
    await world.chats.stop(chat);
    await world.chats.edit(chat, [edit]);
    expect(await pathWords(world, chat)).toEqual(["Go"]);
  });
});

describe("a chat that is exported while it is answered", () => {
  test("has what was said so far, and runs nowhere where it is imported", async () => {
    const world = await chatFixture({ script: () => [{ text: "So far" }, { wait: never }] });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    await said(world, sent, "So far");
    const { text } = await world.chats.exportAs(chat, "json");
    const [imported] = await world.chats.importFrom(JSON.parse(text));
    expect(await pathWords(world, imported?.chat.chat_id ?? "")).toEqual(["Go", "So far"]);
    expect(await world.store.runningAnswers()).toHaveLength(1);
    await world.chats.stop(chat);
  });
});

describe("a store that cannot be written for a moment", () => {
  test("gets the end of an answer as soon as it can", async () => {
    const world = await chatFixture({
      fails: true,
      failOnce: { method: "saveChat", when: (given) => given.includes('"completed"') },
      script: [[{ text: "Done" }]],
    });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "Go" });
    expect(await ended(world, sent)).toMatchObject({ status: "completed" });
    expect(world.failures.join("\n")).toMatch(/could not be kept.*no room/);
  });

  test("leaves a question unsent that it did not keep", async () => {
    const world = await chatFixture({
      failOnce: { method: "saveChat", when: () => true },
      script: [[{ text: "Done" }]],
    });
    const chat = await newChat(world);
    await expect(world.chats.send(chat, { text: "Go" })).rejects.toThrow("no room");
    expect(await pathWords(world, chat)).toEqual([]);
    await sendAndEnd(world, chat, "Go");
    expect(await pathWords(world, chat)).toEqual(["Go", "Done"]);
  });

  test("leaves an answer that says so where its task could not begin", async () => {
    const world = await chatFixture({
      fails: true,
      failOnce: { method: "append", when: (given) => given.includes("task.created") },
      script: () => [{ text: "Done" }],
    });
    const chat = await newChat(world);
    const answer = await sendAndEnd(world, chat, "Go");
    expect(answer).toMatchObject({ status: "error", error: { phase: "model" } });
    expect(world.models.open).toBe(0);
    await ended(world, await world.chats.rerun(chat, { node_id: answer.node_id }));
    expect(await pathWords(world, chat)).toEqual(["Go", "Done"]);
  });
});
