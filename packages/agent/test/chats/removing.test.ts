import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { chatOf, ended, newChat, said, sendAndEnd } from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { office } from "../../../../test/chats/office.ts";
import { counting, silent } from "../../../../test/chats/scripted-replies.ts";

async function filesWith(folder: string, words: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const one of names) {
    if (!one.isFile()) continue;
    const path = join(one.parentPath, one.name);
    if ((await readFile(path)).includes(words)) found.push(one.name);
  }
  return found;
}

describe("a chat that is removed for good", () => {
  test("leaves none of its words in the store, those of its tasks included", async () => {
    const question = "Question-5d41402abc4b2a76b9719d911017c592";
    const answer = "Answer-7d793037a0760186574b0282f2f435e7";
    const world = await chatFixture({ files: true, script: () => [{ text: answer }] });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, question);
    const folder = world.folder ?? "";
    expect(await filesWith(folder, question)).not.toEqual([]);
    await world.chats.remove(chat, { forever: true });
    expect(await world.store.listTasks({ limit: 10 })).toEqual([]);
    await world.store.prune(Date.now());
    await world.close();
    expect(await filesWith(folder, question)).toEqual([]);
    expect(await filesWith(folder, answer)).toEqual([]);
  });

  test("is removed also while it answers", async () => {
    const world = await chatFixture({ script: silent });
    const chat = await newChat(world);
    await world.chats.send(chat, { text: "One" });
    await world.chats.remove(chat, { forever: true });
    expect(await world.store.chat(chat)).toBeUndefined();
    expect(await world.store.listTasks({ limit: 10 })).toEqual([]);
  });
});

describe("an answer whose task cannot be read any more", () => {
  test("can be stopped, and its chat deleted", async () => {
    const world = await chatFixture({ files: true, fails: true, script: silent });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "One" });
    await said(world, sent, "Beginning");
    const db = new DatabaseSync(join(world.folder ?? "", "deltawire.db"));
    db.exec("UPDATE events SET json = '{' WHERE sequence_number = 1");
    db.close();
    const later = await world.killed({ fails: true });
    expect((await later.chats.open(chat))?.chat).toBeDefined();
    await later.chats.stop(chat);
    expect(await ended(later, sent)).toMatchObject({ status: "aborted" });
    await later.chats.remove(chat);
    expect((await later.store.chat(chat))?.deleted_at).toBeDefined();
  });
});

describe("what is hidden", () => {
  test("is not told by asking again for its answer, nor by going on with it", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "my secret words");
    const { nodes } = await chatOf(world, chat);
    const message = nodes[node_id]?.parent ?? "";
    await world.chats.edit(chat, [{ type: "hide", node_id: message, value: true }]);
    for (const work of [
      world.chats.rerun(chat, { node_id }),
      world.chats.rerun(chat, { node_id: message }),
      world.chats.continueAnswer(chat, { node_id }),
    ])
      await expect(work).rejects.toMatchObject({ code: "illegal_place" });
    expect(world.models.bodies).toHaveLength(1);
  });
});

test("what was sent before and deleted since is not sent again by the same promise", async () => {
  const world = await chatFixture({ script: counting });
  const chat = await newChat(world);
  const asked = { text: "Once", task_id: "task_promised" };
  const sent = await world.chats.send(chat, asked);
  await ended(world, sent);
  const { nodes } = await chatOf(world, chat);
  const message = nodes[sent.node_id]?.parent ?? "";
  await world.chats.edit(chat, [{ type: "delete_node", node_id: message, children: "delete" }]);
  await expect(world.chats.send(chat, asked)).rejects.toThrow(/was sent before/);
  expect((await chatOf(world, chat)).nodes).toEqual({});
});

test("a part that is extracted has its own variables, and none of what it was taken from", async () => {
  const world = await chatFixture({
    groups: [office().group],
    script: (_request, round) =>
      round % 2 === 0 ? [{ call: "fetch_long", args: {} }] : [{ text: "Read." }],
  });
  const chat = await newChat(world, { tool_groups: ["office"] });
  await sendAndEnd(world, chat, "One");
  const second = await sendAndEnd(world, chat, "Two", { parent: null });
  expect(await world.store.variables(chat)).toHaveLength(2);
  const { nodes } = await chatOf(world, chat);
  const part = await world.chats.extract(chat, nodes[second.node_id]?.parent ?? "");
  const kept = await world.store.variables(part.chat.chat_id);
  expect(kept.map(({ name }) => name)).toEqual(["fetch_long_2"]);
});
