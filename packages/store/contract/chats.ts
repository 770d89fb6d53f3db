import assert from "node:assert/strict";
import { summaryOf } from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";
import { answer, ChatStage, lastNode } from "./chat-scenario.ts";
import { assertRejects, type Scenarios } from "./scenario.ts";

/** Chats: what is saved is what is opened, listed and told of. */
export const chatScenarios: Scenarios = {
  "a chat is opened as it was created, and again when the store is": async (store, reopen) => {
    const stage = new ChatStage(store);
    const chat = stage.chat(
      "Trains",
      "When?",
      "At 9.",
      'quotes ", zero \u0000, whole \ud83d\ude00',
    );
    await store.createChats([{ chat }]);
    assert.deepEqual(await store.chat(chat.chat_id), { chat, stamp: 1 });
    const again = await reopen();
    assert.deepEqual(await again.chat(chat.chat_id), { chat, stamp: 1 });
    assert.equal(await again.chat("nobody"), undefined);
  },

  "chats are created all or not at all": async (store) => {
    const stage = new ChatStage(store);
    const [one, two] = [stage.chat("one"), stage.chat("two")];
    await store.createChats([{ chat: one }]);
    const both = store.createChats([{ chat: two }, { chat: one }]);
    await assertRejects(both, "store_failed");
    assert.deepEqual(await titles(store), ["one"]);
    assert.equal((await store.chatStamps()).head, 1);
    await store.createChats([{ chat: two }]);
    assert.deepEqual(await titles(store), ["two", "one"]);
  },

  "what is saved is what is opened, edit by edit": async (store, reopen) => {
    const stage = new ChatStage(store);
    let kept = await stage.create("Trains", "When?", "At 9.", "Where?", "There.");
    const [user = "", first = ""] = Object.keys(kept.chat.nodes);
    kept = await stage.save(kept, { type: "rename", title: "Planes" });
    kept = await stage.save(kept, { type: "tag", tags: ["trips", "work"] });
    kept = await stage.save(kept, {
      type: "settings",
      patch: { instructions: "be kind", turns: 5 },
    });
    kept = await stage.save(kept, {
      type: "add_answer_version",
      node_id: first,
      answer: answer("At 10."),
    });
    kept = await stage.save(kept, {
      type: "add_message_version",
      node_id: user,
      message: { text: "How?" },
    });
    kept = await stage.save(kept, { type: "add_separator", after: first });
    kept = await stage.save(kept, { type: "bookmark", node_id: first, value: true });
    assert.deepEqual(await stage.open(kept.chat.chat_id), kept);
    const last = lastNode(kept.chat) ?? "";
    kept = await stage.save(kept, { type: "delete_node", node_id: last, children: "delete" });
    assert.deepEqual(await stage.open(kept.chat.chat_id), kept);
    assert.deepEqual(await (await reopen()).chat(kept.chat.chat_id), kept);
  },

  "of two saves from the same state, also at once, the second is a conflict and changes nothing":
    async (store) => {
      const stage = new ChatStage(store);
      const kept = await stage.create("Trains", "When?", "At 9.");
      const [mine, other] = ["mine", "other"].map((text) => stage.said(kept.chat, text));
      assert.ok(mine !== undefined && other !== undefined);
      const [first, second] = await Promise.all([
        store.saveChat(kept, mine),
        store.saveChat(kept, other),
      ]);
      assert.deepEqual(first, { chat: mine, stamp: 2 });
      assert.equal(second, "conflict");
      assert.deepEqual(await stage.open(kept.chat.chat_id), first);
      assert.deepEqual(await store.searchChats("other", { limit: 10 }), []);
      assert.equal((await store.chatStamps()).head, 2);
    },

  "a chat that was deleted, restored or removed meanwhile is a conflict too": async (store) => {
    const stage = new ChatStage(store);
    const kept = await stage.create("Trains", "When?");
    const after = stage.said(kept.chat, "Where?");
    await store.setDeleted(kept.chat.chat_id, stage.world.now());
    assert.equal(await store.saveChat(kept, after), "conflict");
    await store.removeChat(kept.chat.chat_id);
    assert.equal(await store.saveChat(kept, after), "conflict");
  },

  "a list has the pinned ones first, then the last changed, page by page": async (store) => {
    const stage = new ChatStage(store);
    const kept = [];
    for (const title of ["a", "b", "c", "d", "e"]) kept.push(await stage.create(title, title));
    const [a, b] = kept;
    assert.ok(a !== undefined && b !== undefined);
    await stage.save(b, { type: "pin_chat", value: true });
    await stage.saved(a, stage.said(a.chat, "more"));
    assert.deepEqual(await titles(store), ["b", "a", "e", "d", "c"]);
    const pages = [];
    for (let before: string | undefined; ;) {
      const page = await store.listChats({ limit: 2, ...(before === undefined ? {} : { before }) });
      if (page.length === 0) break;
      pages.push(page.map(({ title }) => title));
      before = page.at(-1)?.chat_id;
    }
    assert.deepEqual(pages, [["b", "a"], ["e", "d"], ["c"]]);
  },

  "a list shows what is in the chats": async (store) => {
    const stage = new ChatStage(store);
    let kept = await stage.create("Trains", "When?", "At 9.", "Where?");
    kept = await stage.save(kept, {
      type: "add_answer",
      parent: lastNode(kept.chat) ?? "",
      answer: answer("", { status: "running", task_id: "task_1", output: [] }),
    });
    const [summary] = await store.listChats({ limit: 10 });
    assert.deepEqual(summary, summaryOf(kept));
    assert.deepEqual([summary?.messages, summary?.running], [4, 1]);
    assert.deepEqual([summary?.first_words, summary?.excerpt], ["When?", "Where?"]);
  },

  "tags are counted, and a list can be of one tag": async (store) => {
    const stage = new ChatStage(store);
    const kept = [];
    for (const title of ["a", "b", "c"]) {
      const chat = await stage.create(title);
      kept.push(await stage.save(chat, { type: "tag", tags: ["all", title] }));
    }
    const [a, b] = kept;
    assert.ok(a !== undefined && b !== undefined);
    await stage.save(a, { type: "tag", tags: ["all"] });
    await store.setDeleted(b.chat.chat_id, stage.world.now());
    assert.deepEqual(await store.chatTags(), [
      { tag: "all", chats: 2 },
      { tag: "c", chats: 1 },
    ]);
    // Tagging moves no chat: the one that was made last is the first.
    assert.deepEqual(await titles(store, { tag: "all" }), ["c", "a"]);
    assert.deepEqual(await titles(store, { tag: "a" }), []);
    assert.deepEqual(await titles(store, { tag: "b", deleted: true }), ["b"]);
  },

  "a deleted chat is listed among the deleted, and comes back": async (store, reopen) => {
    const stage = new ChatStage(store);
    const { chat } = await stage.create("Trains", "When?");
    const deletedAt = "2026-05-06T07:08:09.000Z";
    assert.equal(await store.setDeleted(chat.chat_id, deletedAt), true);
    assert.deepEqual(await titles(store), []);
    assert.deepEqual(await store.searchChats("When", { limit: 10 }), []);
    const again = await reopen();
    assert.deepEqual(await again.chat(chat.chat_id), { chat, stamp: 2, deleted_at: deletedAt });
    const [listed] = await again.listChats({ limit: 10, deleted: true });
    assert.equal(listed?.deleted_at, deletedAt);
    await again.setDeleted(chat.chat_id, null);
    assert.deepEqual(await again.chat(chat.chat_id), { chat, stamp: 3 });
    assert.deepEqual(await titles(again), ["Trains"]);
    assert.equal(await again.setDeleted("nobody", null), false);
  },

  "the feed tells the last change of each chat, in order, and what was removed": async (
    store,
    reopen,
  ) => {
    const stage = new ChatStage(store);
    const a = await stage.create("a");
    const b = await stage.create("b");
    const c = await stage.create("c");
    await stage.save(a, { type: "rename", title: "A" });
    await store.setDeleted(c.chat.chat_id, stage.world.now());
    assert.equal(await store.removeChat(b.chat.chat_id), true);
    assert.equal(await store.removeChat(b.chat.chat_id), false);
    const again = await reopen();
    assert.deepEqual(await feed(again, 0), ["4 A", "5 c deleted", `6 ${b.chat.chat_id} removed`]);
    assert.deepEqual(await feed(again, 4, 1), ["5 c deleted"]);
    assert.deepEqual(await feed(again, 6), []);
    assert.deepEqual(await again.chatStamps(), { head: 6, oldest: 0 });
    await again.createChats([{ chat: b.chat }]);
    assert.deepEqual(await feed(again, 4), ["5 c deleted", "7 b"]);
  },

  "answers that run are known until they end, or go": async (store, reopen) => {
    const stage = new ChatStage(store);
    const first = await stage.create("a", "one");
    const second = await stage.create("b", "one");
    const slot = (task_id: string) => answer("", { status: "running", task_id, output: [] });
    const run = async (kept: typeof first, task: string) => {
      const parent = lastNode(kept.chat) ?? "";
      return stage.save(kept, { type: "add_answer", parent, answer: slot(task) });
    };
    const running = [await run(first, "task_1"), await run(second, "task_2")];
    const again = await reopen();
    const tasks = async () => (await again.runningAnswers()).map(({ task_id }) => task_id);
    assert.deepEqual(await tasks(), ["task_1", "task_2"]);
    const [place] = await again.runningAnswers();
    const [a, b] = running;
    assert.ok(place !== undefined && a !== undefined && b !== undefined);
    assert.equal(place.chat_id, a.chat.chat_id);
    const { chat } = stage.edit(a.chat, {
      type: "finish_answer",
      node_id: place.node_id,
      version_id: place.version_id,
      end: { status: "completed", output: answer("done").output, references: [] },
    });
    assert.ok((await again.saveChat(a, chat)) !== "conflict");
    assert.deepEqual(await tasks(), ["task_2"]);
    await again.removeChat(b.chat.chat_id);
    assert.deepEqual(await tasks(), []);
  },
};

async function titles(
  store: Store,
  options: { tag?: string; deleted?: boolean } = {},
): Promise<string[]> {
  return (await store.listChats({ limit: 100, ...options })).map(({ title }) => title);
}

async function feed(store: Store, after: number, limit = 100): Promise<string[]> {
  return (await store.chatChanges(after, limit)).map((change) =>
    change.type === "chat.removed"
      ? `${change.stamp} ${change.chat_id} removed`
      : `${change.stamp} ${change.chat.title}${change.chat.deleted_at === undefined ? "" : " deleted"}`,
  );
}
