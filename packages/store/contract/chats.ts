import assert from "node:assert/strict";
import { createChat, findRunningAnswers, summarizeChat } from "@deltawire/tasks/chats";
import type { StoredChat } from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";
import { createAnswer, ChatBuilder, getLastNodeId } from "./chat-builder.ts";
import { assertRejects, type StoreScenarios } from "./scenario.ts";

/** Saving, opening and listing chats, and their change feed. */
export const chatScenarios: StoreScenarios = {
  "a chat is read back unchanged, even after reopening the store": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const chat = builder.build(
      "Trains",
      "When?",
      "At 9.",
      'quotes ", zero \u0000, whole \ud83d\ude00',
    );
    await store.createChats([{ chat }]);
    assert.deepEqual(await store.getChat(chat.chat_id), { chat, stamp: 1 });
    const reopened = await reopen();
    assert.deepEqual(await reopened.getChat(chat.chat_id), { chat, stamp: 1 });
    assert.equal(await reopened.getChat("nobody"), undefined);
  },

  "a chat whose title is missing after an answer is claimed once": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const claim = (of: Store, minAgeMs = 0) => of.claimUntitledChats({ minAgeMs, limit: 2 });
    const answer = async (stored: StoredChat): Promise<StoredChat> => {
      const asked = builder.addText(stored.chat, "When?");
      const { chat, node } = builder.edit(asked, {
        type: "add_answer",
        parent: getLastNodeId(asked) ?? "",
        answer: createAnswer("", { status: "running", output: [], task_id: "task_1" }),
      });
      const running = await builder.saveChat(stored, chat);
      assert.deepEqual(await claim(store), [], "not while the answer is running");
      const version_id = findRunningAnswers(chat)[0]?.version_id ?? "";
      const end = { status: "completed" as const, output: [], references: [] };
      return builder.saveEdit(running, { type: "finish_answer", node_id: node, version_id, end });
    };
    const create = async (id: string): Promise<StoredChat> => {
      await store.createChats([
        { chat: { ...createChat({}, builder.editEnvironment), chat_id: id } },
      ]);
      return builder.open(id);
    };
    await answer(await builder.create("titled by the user"));
    const titled = await answer(await create("titled by the model"));
    await builder.saveEdit(titled, { type: "title_by_model", title: "Trains" });
    const removed = await answer(await create("removed"));
    await store.removeChat(removed.chat.chat_id);
    const untitled = await answer(await create("untitled"));
    assert.deepEqual(await claim(store, 60_000), [], "the answer has just ended");
    const reopened = await reopen();
    assert.deepEqual(await claim(reopened), ["untitled"]);
    assert.deepEqual(await claim(reopened), []);
    const { chat } = builder.edit(untitled.chat, { type: "tag", tags: ["trips"] });
    assert.notEqual(await reopened.saveChat(untitled, chat), "conflict");
    assert.deepEqual(await claim(reopened), [], "another change does not make it untitled again");
  },

  "either all chats are created or none": async (store) => {
    const builder = new ChatBuilder(store);
    const [one, two] = [builder.build("one"), builder.build("two")];
    await store.createChats([{ chat: one }]);
    const creation = store.createChats([{ chat: two }, { chat: one }]);
    await assertRejects(creation, "id_taken");
    assert.deepEqual(await listTitles(store), ["one"]);
    assert.equal((await store.getChatStamps()).head, 1);
    await store.createChats([{ chat: two }]);
    assert.deepEqual(await listTitles(store), ["two", "one"]);
  },

  "a saved chat is read back unchanged after each edit": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    let stored = await builder.create("Trains", "When?", "At 9.", "Where?", "There.");
    const [messageId = "", answerId = ""] = Object.keys(stored.chat.nodes);
    stored = await builder.saveEdit(stored, { type: "rename", title: "Planes" });
    stored = await builder.saveEdit(stored, { type: "tag", tags: ["trips", "work"] });
    stored = await builder.saveEdit(stored, {
      type: "settings",
      patch: { instructions: "be kind", turns: 5 },
    });
    stored = await builder.saveEdit(stored, {
      type: "add_answer_version",
      node_id: answerId,
      answer: createAnswer("At 10."),
    });
    stored = await builder.saveEdit(stored, {
      type: "add_message_version",
      node_id: messageId,
      message: { text: "How?" },
    });
    stored = await builder.saveEdit(stored, { type: "add_separator", after: answerId });
    stored = await builder.saveEdit(stored, { type: "bookmark", node_id: answerId, value: true });
    assert.deepEqual(await builder.open(stored.chat.chat_id), stored);
    const last = getLastNodeId(stored.chat) ?? "";
    stored = await builder.saveEdit(stored, {
      type: "delete_node",
      node_id: last,
      children: "delete",
    });
    assert.deepEqual(await builder.open(stored.chat.chat_id), stored);
    assert.deepEqual(await (await reopen()).getChat(stored.chat.chat_id), stored);
  },

  "the second of two saves of the same revision is a conflict and changes nothing, even if concurrent":
    async (store) => {
      const builder = new ChatBuilder(store);
      const stored = await builder.create("Trains", "When?", "At 9.");
      const [mine, other] = ["mine", "other"].map((text) => builder.addText(stored.chat, text));
      assert.ok(mine !== undefined && other !== undefined);
      const [first, second] = await Promise.all([
        store.saveChat(stored, mine),
        store.saveChat(stored, other),
      ]);
      assert.deepEqual(first, { chat: mine, stamp: 2 });
      assert.equal(second, "conflict");
      assert.deepEqual(await builder.open(stored.chat.chat_id), first);
      assert.deepEqual(await store.searchChats("other", { owner: "", limit: 10 }), []);
      assert.equal((await store.getChatStamps()).head, 2);
    },

  "saving a chat that was deleted, restored or removed in the meantime is a conflict": async (
    store,
  ) => {
    const builder = new ChatBuilder(store);
    const stored = await builder.create("Trains", "When?");
    const after = builder.addText(stored.chat, "Where?");
    await store.setDeleted(stored.chat.chat_id, builder.editEnvironment.now());
    assert.equal(await store.saveChat(stored, after), "conflict");
    await store.setDeleted(stored.chat.chat_id, null);
    assert.equal(await store.saveChat(stored, after), "conflict");
    await store.removeChat(stored.chat.chat_id);
    assert.equal(await store.saveChat(stored, after), "conflict");
  },

  "chats are listed page by page: pinned ones first, then by last change": async (store) => {
    const builder = new ChatBuilder(store);
    const stored = [];
    for (const title of ["a", "b", "c", "d", "e"]) stored.push(await builder.create(title, title));
    const [a, b] = stored;
    assert.ok(a !== undefined && b !== undefined);
    await builder.saveEdit(b, { type: "pin_chat", value: true });
    await builder.saveChat(a, builder.addText(a.chat, "more"));
    assert.deepEqual(await listTitles(store), ["b", "a", "e", "d", "c"]);
    const pages = [];
    for (let before: string | undefined; ;) {
      const page = await store.listChats({
        owner: "",
        limit: 2,
        ...(before === undefined ? {} : { before }),
      });
      if (page.length === 0) break;
      pages.push(page.map(({ title }) => title));
      before = page.at(-1)?.chat_id;
    }
    assert.deepEqual(pages, [["b", "a"], ["e", "d"], ["c"]]);
  },

  "the list of chats contains their summaries": async (store) => {
    const builder = new ChatBuilder(store);
    let stored = await builder.create("Trains", "When?", "At 9.", "Where?");
    stored = await builder.saveEdit(stored, {
      type: "add_answer",
      parent: getLastNodeId(stored.chat) ?? "",
      answer: createAnswer("", { status: "running", task_id: "task_1", output: [] }),
    });
    const [summary] = await store.listChats({ owner: "", limit: 10 });
    assert.deepEqual(summary, summarizeChat(stored));
    assert.deepEqual([summary?.messages, summary?.running], [4, 1]);
    assert.deepEqual([summary?.opening_text, summary?.excerpt], ["When?", "Where?"]);
  },

  "tags are counted, and the list of chats can be limited to a tag": async (store) => {
    const builder = new ChatBuilder(store);
    const stored = [];
    for (const title of ["a", "b", "c"]) {
      const chat = await builder.create(title);
      stored.push(await builder.saveEdit(chat, { type: "tag", tags: ["all", title] }));
    }
    const [a, b] = stored;
    assert.ok(a !== undefined && b !== undefined);
    await builder.saveEdit(a, { type: "tag", tags: ["all"] });
    await store.setDeleted(b.chat.chat_id, builder.editEnvironment.now());
    assert.deepEqual(await store.listTags(""), [
      { tag: "all", chats: 2 },
      { tag: "c", chats: 1 },
    ]);
    // Tagging does not change the order: the newest chat is first.
    assert.deepEqual(await listTitles(store, { tag: "all" }), ["c", "a"]);
    assert.deepEqual(await listTitles(store, { tag: "a" }), []);
    assert.deepEqual(await listTitles(store, { tag: "b", deleted: true }), ["b"]);
  },

  "a deleted chat is listed among the deleted ones and can be restored": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const { chat } = await builder.create("Trains", "When?");
    const deletedAt = "2026-05-06T07:08:09.000Z";
    assert.equal(await store.setDeleted(chat.chat_id, deletedAt), true);
    assert.deepEqual(await listTitles(store), []);
    assert.deepEqual(await store.searchChats("When", { owner: "", limit: 10 }), []);
    const reopened = await reopen();
    assert.deepEqual(await reopened.getChat(chat.chat_id), {
      chat,
      stamp: 2,
      deleted_at: deletedAt,
    });
    const [summary] = await reopened.listChats({ owner: "", limit: 10, deleted: true });
    assert.equal(summary?.deleted_at, deletedAt);
    await reopened.setDeleted(chat.chat_id, null);
    assert.deepEqual(await reopened.getChat(chat.chat_id), { chat, stamp: 3 });
    assert.deepEqual(await listTitles(reopened), ["Trains"]);
    assert.equal(await reopened.setDeleted("nobody", null), false);
  },

  "the change feed has the last change of each chat in order, and removals": async (
    store,
    reopen,
  ) => {
    const builder = new ChatBuilder(store);
    const a = await builder.create("a");
    const b = await builder.create("b");
    const c = await builder.create("c");
    await builder.saveEdit(a, { type: "rename", title: "A" });
    await store.setDeleted(c.chat.chat_id, builder.editEnvironment.now());
    assert.equal(await store.removeChat(b.chat.chat_id), true);
    assert.equal(await store.removeChat(b.chat.chat_id), false);
    const reopened = await reopen();
    assert.deepEqual(await readChanges(reopened, 0), [
      "4 A",
      "5 c deleted",
      `6 ${b.chat.chat_id} removed`,
    ]);
    assert.deepEqual(await readChanges(reopened, 4, 1), ["5 c deleted"]);
    assert.deepEqual(await readChanges(reopened, 6), []);
    assert.deepEqual(await reopened.getChatStamps(), { head: 6, oldest: 0 });
    await reopened.createChats([{ chat: b.chat }]);
    assert.deepEqual(await readChanges(reopened, 4), ["5 c deleted", "7 b"]);
  },

  "running answers are listed until they end or their chat is removed": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const first = await builder.create("a", "one");
    const second = await builder.create("b", "one");
    const buildRunningAnswer = (task_id: string) =>
      createAnswer("", { status: "running", task_id, output: [] });
    const addRunningAnswer = async (stored: typeof first, task: string) => {
      const parent = getLastNodeId(stored.chat) ?? "";
      return builder.saveEdit(stored, {
        type: "add_answer",
        parent,
        answer: buildRunningAnswer(task),
      });
    };
    const chatsWithAnswer = [
      await addRunningAnswer(first, "task_1"),
      await addRunningAnswer(second, "task_2"),
    ];
    const reopened = await reopen();
    const listRunningTaskIds = async () =>
      (await reopened.listRunningAnswers()).map(({ task_id }) => task_id);
    assert.deepEqual(await listRunningTaskIds(), ["task_1", "task_2"]);
    const [runningAnswer] = await reopened.listRunningAnswers();
    const [a, b] = chatsWithAnswer;
    assert.ok(runningAnswer !== undefined && a !== undefined && b !== undefined);
    assert.equal(runningAnswer.chat_id, a.chat.chat_id);
    const { chat } = builder.edit(a.chat, {
      type: "finish_answer",
      node_id: runningAnswer.node_id,
      version_id: runningAnswer.version_id,
      end: { status: "completed", output: createAnswer("done").output, references: [] },
    });
    assert.ok((await reopened.saveChat(a, chat)) !== "conflict");
    assert.deepEqual(await listRunningTaskIds(), ["task_2"]);
    await reopened.removeChat(b.chat.chat_id);
    assert.deepEqual(await listRunningTaskIds(), []);
  },
};

async function listTitles(
  store: Store,
  options: { tag?: string; deleted?: boolean } = {},
): Promise<string[]> {
  return (await store.listChats({ owner: "", limit: 100, ...options })).map(({ title }) => title);
}

async function readChanges(store: Store, after: number, limit = 100): Promise<string[]> {
  return (await store.listChatChanges("", after, limit)).map((change) =>
    change.type === "chat.removed"
      ? `${change.stamp} ${change.chat_id} removed`
      : `${change.stamp} ${change.chat.title}${change.chat.deleted_at === undefined ? "" : " deleted"}`,
  );
}
