import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  getAnswerNode,
  readChat,
  decideQuestion,
  waitForAnswerEnd,
  createTestChat,
  readPathTexts,
  waitForQuestion,
  waitForAnswerText,
  sendAndWait,
  listSentItems,
  waitForChat,
  type AnswerRef,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { neverResolves } from "../../../../test/chats/scripted-models.ts";

const withOffice = { tool_groups: ["office"] };

/** Simulates a kill after the task has ended and before the end of its answer is stored. Resolves to the next process. */
async function killBeforeEndIsStored(
  fixture: StoredChatFixture,
  { task_id }: AnswerRef,
): Promise<StoredChatFixture> {
  const nextProcess = Promise.withResolvers<StoredChatFixture>();
  // This listener and the chat learn of the end at the same time.
  fixture.runtime.subscribe(task_id, (_entries, { status }) => {
    if (status === "completed") nextProcess.resolve(fixture.restartAfterKill());
  });
  return nextProcess.promise;
}

describe("a gateway that is killed", () => {
  test("during a reply resumes the answer after a restart, without adding a version", async () => {
    const fixture = await chatFixture({
      files: true,
      groups: [createOfficeTools().group],
      script: [
        [{ call: "say", args: { text: "a" } }],
        [{ text: "Half of it" }, { wait: neverResolves }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerText(fixture, sent, "Half");
    const later = await fixture.restartAfterKill({ script: [[{ text: "The whole." }]] });
    const answer = await waitForAnswerEnd(later, sent);
    expect(answer).toMatchObject({ status: "completed", chain: { calls: [{ name: "say" }] } });
    expect(getAnswerNode(await readChat(later, chat), sent.node_id).versions).toHaveLength(1);
    expect((await readPathTexts(later, chat)).at(-1)).toContain("The whole.");
    later.models.setScript([[{ text: "Yes" }]]);
    await sendAndWait(later, chat, "And?");
    expect(listSentItems(later).slice(0, 3)).toEqual([
      "user: Go",
      'say {"text":"a"}',
      '=> "said: a"',
    ]);
  });

  test("before the task of an answer has started marks the answer as interrupted after a restart, and sends nothing", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ wait: neverResolves }] });
    const chat = await createTestChat(fixture);
    const killedAfterPlaceholder = new Promise<StoredChatFixture>((resolve) => {
      fixture.chats.subscribe(() =>
        resolve(fixture.restartAfterKill({ script: [[{ text: "Now" }]] })),
      );
    });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    const later = await killedAfterPlaceholder;
    const [version] = getAnswerNode(await readChat(later, chat), sent.node_id).versions;
    expect(version).toMatchObject({
      status: "error",
      error: { phase: "model", code: "interrupted" },
    });
    expect(later.models.bodies).toEqual([]);
    await waitForAnswerEnd(later, await later.chats.rerun(chat, { node_id: sent.node_id }));
    expect(await readPathTexts(later, chat)).toEqual(["Go", "Now"]);
  });

  test("before the end of an answer is stored has the complete answer after a restart, without a new request", async () => {
    const go = Promise.withResolvers<void>();
    const fixture = await chatFixture({
      files: true,
      script: [[{ text: "All" }, { wait: go.promise }, { text: " of it" }]],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    const restarting = killBeforeEndIsStored(fixture, sent);
    go.resolve();
    const later = await restarting;
    const { versions } = getAnswerNode(await readChat(later, chat), sent.node_id);
    expect(versions).toMatchObject([{ status: "completed", usage: { total_tokens: 15 } }]);
    expect(later.models.bodies).toEqual([]);
    later.models.setScript([[{ text: "Yes" }]]);
    await sendAndWait(later, chat, "And?");
    expect(listSentItems(later)).toEqual([
      "user: Go",
      "assistant: All",
      "assistant:  of it",
      "user: And?",
    ]);
  });

  test("while an approval is pending shows the answer as waiting after a restart, and the approval can be decided", async () => {
    const fixture = await chatFixture({
      files: true,
      groups: [createOfficeTools().group],
      script: [[{ call: "ask_first", args: {} }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForQuestion(fixture, sent);
    await waitForChat(fixture, chat, ({ nodes }) =>
      JSON.stringify(nodes).includes('"waiting":true'),
    );
    const later = await fixture.restartAfterKill({ script: [[{ wait: neverResolves }]] });
    const waiting = async (): Promise<unknown> =>
      getAnswerNode(await readChat(later, chat), sent.node_id).versions[0]?.waiting;
    expect(await waiting()).toBe(true);
    await decideQuestion(later, sent, "approve");
    await waitForChat(
      later,
      chat,
      ({ nodes }) => !JSON.stringify(nodes).includes('"waiting":true'),
    );
    expect((await later.store.listChats({ owner: "", limit: 1 }))[0]).toMatchObject({
      running: 1,
      waiting: 0,
    });
    await later.chats.stop(chat);
    expect((await waitForAnswerEnd(later, sent)).status).toBe("aborted");
  });

  test("can stop the answer after a restart", async () => {
    const fixture = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: neverResolves }],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerText(fixture, sent, "So");
    const later = await fixture.restartAfterKill();
    await later.chats.stop(chat);
    expect(await waitForAnswerEnd(later, sent)).toMatchObject({ status: "aborted" });
    expect(await later.store.listUnfinished()).toEqual([]);
  });

  test("can stop an answer that it can no longer resume because its tools were removed", async () => {
    const fixture = await chatFixture({
      files: true,
      groups: [createOfficeTools().group],
      script: [[{ text: "Look:" }, { call: "ask_first", args: {} }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForQuestion(fixture, sent);
    const later = await fixture.restartAfterKill({ groups: [], expectsFailures: true });
    expect(await later.store.listRunningAnswers()).toHaveLength(1);
    await later.chats.stop(chat);
    expect(await waitForAnswerEnd(later, sent)).toMatchObject({ status: "aborted" });
    expect((await readPathTexts(later, chat)).at(-1)).toBe("Look:");
  });

  test("resumes its other tasks if one is unreadable, and still opens the chat of that task", async () => {
    const fixture = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: neverResolves }],
    });
    const [brokenChat, readableChat] = [
      await createTestChat(fixture),
      await createTestChat(fixture),
    ];
    await fixture.chats.send(brokenChat, { text: "Go", task_id: "task_broken" });
    const sent = await fixture.chats.send(readableChat, { text: "Go" });
    await fixture.close();
    const db = new DatabaseSync(join(fixture.folder ?? "", "deltawire.db"));
    db.exec(
      "UPDATE events SET json = '{' WHERE root = (SELECT number FROM tasks WHERE task_id = 'task_broken')",
    );
    db.close();
    const later = await fixture.restartAfterKill({
      expectsFailures: true,
      script: [[{ text: "Done" }]],
    });
    expect((await waitForAnswerEnd(later, sent)).status).toBe("completed");
    expect((await later.chats.open(brokenChat))?.chat.nodes).not.toEqual({});
    expect(later.failures.join("\n")).toMatch(/could not be resumed/);
  });

  test("does not answer a request again that is repeated with the same task id after a restart", async () => {
    const fixture = await chatFixture({ files: true, script: [[{ text: "Once" }]] });
    const chat = await createTestChat(fixture);
    const request = { text: "Go", task_id: "task_promised" };
    await waitForAnswerEnd(fixture, await fixture.chats.send(chat, request));
    const later = await fixture.restartAfterKill();
    await later.chats.send(chat, request);
    expect(await readPathTexts(later, chat)).toEqual(["Go", "Once"]);
    expect(later.models.bodies).toEqual([]);
  });
});

describe("a gateway that shuts down", () => {
  test("while an answer is running leaves it to the next process", async () => {
    const fixture = await chatFixture({
      files: true,
      script: () => [{ text: "So" }, { wait: neverResolves }],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await fixture.close();
    const later = await fixture.restartAfterKill({ script: [[{ text: "Done" }]] });
    expect((await waitForAnswerEnd(later, sent)).status).toBe("completed");
    expect((await readPathTexts(later, chat)).at(-1)).toContain("Done");
  });

  test("at any time during an answer leaves an answer that the next process ends", async () => {
    for (let wait = 0; wait < 12; wait += 1) {
      const script = [[{ text: ["O", "n", "e"] }], [{ text: "Two" }]];
      const fixture = await chatFixture({ files: true, expectsFailures: true, script });
      const chat = await createTestChat(fixture);
      const sending = fixture.chats.send(chat, { text: "Go" }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, wait / 2));
      await fixture.close();
      const sent = await sending;
      const later = await fixture.restartAfterKill({ script: [[{ text: "Later" }]] });
      if (sent === undefined) continue;
      const { status } = await waitForAnswerEnd(later, sent);
      expect(["completed", "error"]).toContain(status);
      expect(getAnswerNode(await readChat(later, chat), sent.node_id).versions).toHaveLength(1);
    }
  });
});

describe("a chat that is removed while an answer is running", () => {
  test("is stopped first, and has the partial answer when it is restored", async () => {
    const fixture = await chatFixture({
      script: () => [{ text: "So far" }, { wait: neverResolves }],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerText(fixture, sent, "So far");
    await fixture.chats.remove(chat);
    expect(await fixture.store.listUnfinished()).toEqual([]);
    await expect(fixture.chats.send(chat, { text: "More" })).rejects.toThrow(/deleted/);
    await fixture.chats.restore(chat);
    expect(await readPathTexts(fixture, chat)).toEqual(["Go", "So far"]);
  });

  test("permanently leaves nothing running", async () => {
    const fixture = await chatFixture({
      script: () => [{ text: "So far" }, { wait: neverResolves }],
    });
    const chat = await createTestChat(fixture);
    const sending = fixture.chats.send(chat, { text: "Go" });
    await new Promise<void>((resolve) => void fixture.chats.subscribe(() => resolve()));
    await fixture.chats.remove(chat, { forever: true });
    await sending;
    expect(await fixture.store.getChat(chat)).toBeUndefined();
    expect(await fixture.store.listUnfinished()).toEqual([]);
    expect(fixture.models.openReplies).toBe(0);
  });
});

describe("the node of a running answer", () => {
  test("can only be deleted after a stop", async () => {
    const fixture = await chatFixture({ script: () => [{ wait: neverResolves }] });
    const chat = await createTestChat(fixture);
    const { node_id } = await fixture.chats.send(chat, { text: "Go" });
    const edit = { type: "delete_node", node_id, children: "delete" } as const;
    await expect(fixture.chats.edit(chat, [edit])).rejects.toMatchObject({ code: "still_running" });
    await fixture.chats.stop(chat);
    await fixture.chats.edit(chat, [edit]);
    expect(await readPathTexts(fixture, chat)).toEqual(["Go"]);
  });
});

describe("a chat that is exported while an answer is running", () => {
  test("contains the output so far, and is not running after an import", async () => {
    const fixture = await chatFixture({
      script: () => [{ text: "So far" }, { wait: neverResolves }],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerText(fixture, sent, "So far");
    const { text } = await fixture.chats.exportAs(chat, "json");
    const [imported] = await fixture.chats.importFrom(JSON.parse(text));
    expect(await readPathTexts(fixture, imported?.chat.chat_id ?? "")).toEqual(["Go", "So far"]);
    expect(await fixture.store.listRunningAnswers()).toHaveLength(1);
    await fixture.chats.stop(chat);
  });
});

describe("a store that temporarily fails", () => {
  test("stores the end of an answer as soon as it works again", async () => {
    const fixture = await chatFixture({
      expectsFailures: true,
      failOnce: { method: "saveChat", when: (given) => given.includes('"completed"') },
      script: [[{ text: "Done" }]],
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    expect(await waitForAnswerEnd(fixture, sent)).toMatchObject({ status: "completed" });
    expect(fixture.failures.join("\n")).toMatch(/could not be stored.*no room/);
  });

  test("rejects a message that it could not store, and accepts it later", async () => {
    const fixture = await chatFixture({
      failOnce: { method: "saveChat", when: () => true },
      script: [[{ text: "Done" }]],
    });
    const chat = await createTestChat(fixture);
    await expect(fixture.chats.send(chat, { text: "Go" })).rejects.toThrow("no room");
    expect(await readPathTexts(fixture, chat)).toEqual([]);
    await sendAndWait(fixture, chat, "Go");
    expect(await readPathTexts(fixture, chat)).toEqual(["Go", "Done"]);
  });

  test("leaves an answer with an error if its task could not start", async () => {
    const fixture = await chatFixture({
      expectsFailures: true,
      failOnce: { method: "append", when: (given) => given.includes("task.created") },
      script: () => [{ text: "Done" }],
    });
    const chat = await createTestChat(fixture);
    const answer = await sendAndWait(fixture, chat, "Go");
    expect(answer).toMatchObject({ status: "error", error: { phase: "model" } });
    expect(fixture.models.openReplies).toBe(0);
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id: answer.node_id }));
    expect(await readPathTexts(fixture, chat)).toEqual(["Go", "Done"]);
  });
});
