import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  readChat,
  waitForAnswerEnd,
  createTestChat,
  waitForAnswerText,
  sendAndWait,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { countingScript, hangingScript } from "../../../../test/chats/scripted-models.ts";

async function findFilesContaining(folder: string, words: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const one of names) {
    if (!one.isFile()) continue;
    const path = join(one.parentPath, one.name);
    if ((await readFile(path)).includes(words)) found.push(one.name);
  }
  return found;
}

describe("a permanently removed chat", () => {
  test("leaves none of its text in the store, including that of its tasks", async () => {
    const question = "Question-5d41402abc4b2a76b9719d911017c592";
    const answer = "Answer-7d793037a0760186574b0282f2f435e7";
    const fixture = await chatFixture({ files: true, script: () => [{ text: answer }] });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, question);
    const folder = fixture.folder ?? "";
    expect(await findFilesContaining(folder, question)).not.toEqual([]);
    await fixture.chats.remove(chat, { forever: true });
    expect(await fixture.store.listTasks({ owner: "", limit: 10 })).toEqual([]);
    await fixture.store.prune(Date.now());
    await fixture.close();
    expect(await findFilesContaining(folder, question)).toEqual([]);
    expect(await findFilesContaining(folder, answer)).toEqual([]);
  });

  test("is removed with its task even while an answer is running", async () => {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    await fixture.chats.send(chat, { text: "One" });
    await fixture.chats.remove(chat, { forever: true });
    expect(await fixture.store.getChat(chat)).toBeUndefined();
    expect(await fixture.store.listTasks({ owner: "", limit: 10 })).toEqual([]);
  });
});

describe("an answer whose task is unreadable", () => {
  test("can be stopped, and its chat deleted", async () => {
    const fixture = await chatFixture({
      files: true,
      expectsFailures: true,
      script: hangingScript,
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "One" });
    await waitForAnswerText(fixture, sent, "Beginning");
    const db = new DatabaseSync(join(fixture.folder ?? "", "deltawire.db"));
    db.exec("UPDATE events SET json = '{' WHERE sequence_number = 1");
    db.close();
    const later = await fixture.restartAfterKill({ expectsFailures: true });
    expect((await later.chats.open(chat))?.chat).toBeDefined();
    await later.chats.stop(chat);
    expect(await waitForAnswerEnd(later, sent)).toMatchObject({ status: "aborted" });
    await later.chats.remove(chat);
    expect((await later.store.getChat(chat))?.deleted_at).toBeDefined();
  });
});

describe("a hidden message", () => {
  test("is not sent: rerunning or continuing its answer is rejected", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "my secret words");
    const { nodes } = await readChat(fixture, chat);
    const message = nodes[node_id]?.parent ?? "";
    await fixture.chats.edit(chat, [{ type: "hide", node_id: message, value: true }]);
    for (const action of [
      fixture.chats.rerun(chat, { node_id }),
      fixture.chats.rerun(chat, { node_id: message }),
      fixture.chats.continueAnswer(chat, { node_id }),
    ])
      await expect(action).rejects.toMatchObject({ code: "invalid_position" });
    expect(fixture.models.bodies).toHaveLength(1);
  });
});

test("a deleted message is not sent again by repeating its request with the same task id", async () => {
  const fixture = await chatFixture({ script: countingScript });
  const chat = await createTestChat(fixture);
  const sendRequest = { text: "Once", task_id: "task_promised" };
  const sent = await fixture.chats.send(chat, sendRequest);
  await waitForAnswerEnd(fixture, sent);
  const { nodes } = await readChat(fixture, chat);
  const message = nodes[sent.node_id]?.parent ?? "";
  await fixture.chats.edit(chat, [{ type: "delete_node", node_id: message, children: "delete" }]);
  await expect(fixture.chats.send(chat, sendRequest)).rejects.toThrow(/already sent/);
  expect((await readChat(fixture, chat)).nodes).toEqual({});
});

test("an extracted subtree contains only the variables that it uses", async () => {
  const fixture = await chatFixture({
    groups: [createOfficeTools().group],
    script: (_request, round) =>
      round % 2 === 0 ? [{ call: "fetch_long", args: {} }] : [{ text: "Read." }],
  });
  const chat = await createTestChat(fixture, { tool_groups: ["office"] });
  await sendAndWait(fixture, chat, "One");
  const second = await sendAndWait(fixture, chat, "Two", { parent: null });
  expect(await fixture.store.listVariables(chat)).toHaveLength(2);
  const { nodes } = await readChat(fixture, chat);
  const part = await fixture.chats.extract(chat, nodes[second.node_id]?.parent ?? "");
  const variables = await fixture.store.listVariables(part.chat.chat_id);
  expect(variables.map(({ name }) => name)).toEqual(["fetch_long_2"]);
});
