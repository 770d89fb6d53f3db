import assert from "node:assert/strict";
import type { Store } from "@deltawire/store";
import { ChatBuilder } from "./chat-builder.ts";
import {
  createEntry,
  durable,
  notDurable,
  taskCompletedEntry,
  taskCreatedEntry,
  type StoreScenarios,
} from "./scenario.ts";

const farFuture = 400 * 24 * 60 * 60 * 1000;

export const ownerScenarios: StoreScenarios = {
  "lists contain only the tasks of one owner": async (store) => {
    for (const [taskId, owner] of Object.entries({ a1: "ann", b1: "bob", a2: "ann", none: "" }))
      await store.append(taskId, [taskCreatedEntry(taskId, 0, { session_id: "shared" })], {
        ...durable,
        ...(owner === "" ? {} : { creation: { owner } }),
      });
    const list = async (owner: string, filter: { before?: string; session?: string } = {}) =>
      (await store.listTasks({ owner, limit: 10, ...filter })).map(({ task_id }) => task_id);
    assert.deepEqual(await list("ann"), ["a2", "a1"]);
    assert.deepEqual(await list("bob"), ["b1"]);
    assert.deepEqual(await list(""), ["none"]);
    assert.deepEqual(await list("nobody"), []);
    assert.deepEqual(await list("bob", { session: "shared" }), ["b1"]);
    assert.deepEqual(await list("ann", { before: "a2" }), ["a1"]);
    assert.deepEqual(await list("ann", { before: "none" }), [], "the position of another owner");
  },

  "a task, its sub-tasks and its approvals belong to the owner": async (store, reopen) => {
    await store.append(
      "t",
      [
        taskCreatedEntry("t"),
        taskCreatedEntry("child", 1, { root_task_id: "t", parent_task_id: "t", depth: 1 }),
        createEntry("t", 2, {
          type: "task.approval.requested",
          approval: { approval_id: "appr", kind: "call", choices: ["approve", "deny"] },
        }),
      ],
      { ...durable, creation: { owner: "ann" } },
    );
    const reopened = await reopen();
    for (const [kind, id] of [
      ["task", "t"],
      ["task", "child"],
      ["approval", "appr"],
    ] as const) {
      assert.equal(await reopened.owns("ann", kind, id), true, id);
      assert.equal(await reopened.owns("bob", kind, id), false, id);
      assert.equal(await reopened.owns("", kind, id), false, id);
      assert.equal(await reopened.owns("ann", kind, "unknown"), false);
    }
  },

  "lists, searches and tags contain only the chats of one owner": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const create = async (owner: string, title: string) => {
      const chat = { ...builder.build(title, "a common word"), tags: [`tag of ${title}`] };
      await store.createChats([{ chat, owner }]);
      return chat.chat_id;
    };
    const annChat = await create("ann", "first");
    const bobChat = await create("bob", "second");
    await create("ann", "third");
    const reopened = await reopen();
    const list = async (owner: string, before?: string) =>
      (
        await reopened.listChats({ owner, limit: 10, ...(before === undefined ? {} : { before }) })
      ).map(({ title }) => title);
    const search = async (query: string, owner: string, limit = 10) =>
      (await reopened.searchChats(query, { owner, limit })).map(({ chat }) => chat.title);
    assert.deepEqual(await list("ann"), ["third", "first"]);
    assert.deepEqual(await list("bob"), ["second"]);
    assert.deepEqual(await list(""), []);
    assert.deepEqual(await list("ann", bobChat), [], "the position of another owner");
    assert.deepEqual(await search("common", "ann"), ["third", "first"]);
    assert.deepEqual(await search("common", "bob", 1), ["second"]);
    assert.deepEqual(await search("third", "bob"), []);
    assert.deepEqual(await search("common", ""), []);
    assert.deepEqual(await reopened.listTags("bob"), [{ tag: "tag of second", chats: 1 }]);
    assert.deepEqual(await reopened.listTags(""), []);
    assert.equal(await reopened.owns("ann", "chat", annChat), true);
    assert.equal(await reopened.owns("bob", "chat", annChat), false);
    assert.equal(await reopened.owns("", "chat", annChat), false);
  },

  "a search finds an owner's chat among many matching chats of others": async (store) => {
    const builder = new ChatBuilder(store);
    await store.createChats([{ chat: builder.build("mine", "the needle"), owner: "ann" }]);
    const others = Array.from({ length: 60 }, (_, index) =>
      builder.build(`other ${index}`, "needle"),
    );
    await store.createChats(others.map((chat) => ({ chat, owner: "bob" })));
    const results = await store.searchChats("needle", { owner: "ann", limit: 5 });
    assert.deepEqual(
      results.map(({ chat }) => chat.title),
      ["mine"],
    );
  },

  "a chat keeps its owner when it is saved, deleted and restored": async (store) => {
    const builder = new ChatBuilder(store);
    const chat = builder.build("a chat", "hello");
    await store.createChats([{ chat, owner: "ann" }]);
    const stored = await builder.open(chat.chat_id);
    assert.equal(stored.owner, "ann");
    const saved = await builder.saveEdit(stored, { type: "rename", title: "renamed" });
    assert.equal(saved.owner, "ann");
    await store.setDeleted(chat.chat_id, new Date().toISOString());
    const listDeleted = async (owner: string) =>
      (await store.listChats({ owner, limit: 10, deleted: true })).length;
    assert.equal(await listDeleted("ann"), 1);
    assert.equal(await listDeleted("bob"), 0);
    await store.setDeleted(chat.chat_id, null);
    assert.equal((await builder.open(chat.chat_id)).owner, "ann");
    assert.equal("owner" in (await builder.create("of nobody")), false);
  },

  "the change feed contains only changes and removals of one owner": async (store) => {
    const builder = new ChatBuilder(store);
    const [annChat, bobChat] = [builder.build("of ann"), builder.build("of bob")];
    await store.createChats([
      { chat: annChat, owner: "ann" },
      { chat: bobChat, owner: "bob" },
    ]);
    const listChanges = async (owner: string, after: number) =>
      (await store.listChatChanges(owner, after, 10)).map((change) =>
        change.type === "chat.removed" ? `-${change.chat_id}` : change.chat.chat_id,
      );
    assert.deepEqual(await listChanges("ann", 0), [annChat.chat_id]);
    assert.deepEqual(await listChanges("bob", 0), [bobChat.chat_id]);
    const { head } = await store.getChatStamps();
    await store.removeChat(annChat.chat_id);
    assert.deepEqual(await listChanges("ann", head), [`-${annChat.chat_id}`]);
    assert.deepEqual(await listChanges("bob", head), []);
    assert.deepEqual(await listChanges("", 0), []);
  },

  "removing a chat does not affect other owners' tasks and grants in a session with its id": async (
    store,
  ) => {
    const chat = new ChatBuilder(store).build("a chat");
    await store.createChats([{ chat, owner: "ann" }]);
    for (const owner of ["ann", "bob"]) {
      const taskId = `task of ${owner}`;
      const createdEntry = taskCreatedEntry(taskId, 0, { session_id: chat.chat_id });
      await store.append(taskId, [createdEntry, taskCompletedEntry(taskId, 1)], {
        ...durable,
        creation: { owner },
      });
      await store.addGrant(chat.chat_id, { tool: "shell" }, owner);
    }
    await store.removeChat(chat.chat_id);
    assert.deepEqual(await listTaskIds(store, "ann"), []);
    assert.deepEqual(await listTaskIds(store, "bob"), ["task of bob"]);
    assert.deepEqual(await store.listGrants(chat.chat_id, "ann"), []);
    assert.deepEqual(await store.listGrants(chat.chat_id, "bob"), [{ tool: "shell" }]);
  },

  "a grant applies to one owner only": async (store, reopen) => {
    await store.addGrant("session", { tool: "shell" }, "ann");
    await store.addGrant("session", { tool: "files" });
    const reopened = await reopen();
    assert.deepEqual(await reopened.listGrants("session", "ann"), [{ tool: "shell" }]);
    assert.deepEqual(await reopened.listGrants("session", "bob"), []);
    assert.deepEqual(await reopened.listGrants("session"), [{ tool: "files" }]);
  },

  "a blob can be read by every owner that has stored it": async (firstStore, reopen) => {
    let store = firstStore;
    for (const size of [10, 100_000]) {
      const bytes = new Uint8Array(size).fill(size % 251);
      const hash = await store.put(bytes, "image/png", { owner: "ann" });
      assert.equal(await store.get(hash), undefined);
      assert.equal(await store.get(hash, { owner: "bob" }), undefined);
      assert.equal((await store.get(hash, { owner: "ann" }))?.bytes.length, size);
      assert.equal(await store.put(bytes, "image/png", { owner: "bob" }), hash);
      assert.equal(await store.put(bytes, "image/png", { owner: "bob" }), hash);
      const reopened = await reopen();
      for (const owner of ["ann", "bob"]) {
        assert.equal((await reopened.get(hash, { owner }))?.bytes.length, size);
        assert.equal(await reopened.owns(owner, "blob", hash), true);
      }
      assert.equal(await reopened.get(hash), undefined);
      assert.equal(await reopened.owns("", "blob", hash), false);
      store = reopened;
    }
  },

  "mentioning the URL of a blob does not make it readable": async (store) => {
    const hash = await store.put(new Uint8Array(20), "image/png", { owner: "ann" });
    const chat = new ChatBuilder(store).build("of bob", `look: /api/blobs/${hash}`);
    await store.createChats([{ chat, owner: "bob" }]);
    const warning = createEntry("t", 1, {
      type: "task.warning",
      code: "retry",
      message: `/api/blobs/${hash}`,
    });
    await store.append("t", [taskCreatedEntry("t"), warning], {
      ...notDurable,
      creation: { owner: "bob" },
    });
    assert.equal(await store.get(hash, { owner: "bob" }), undefined);
    assert.equal(await store.owns("bob", "blob", hash), false);
  },

  "the owners of a pruned blob cannot read it when another one stores it again": async (store) => {
    const bytes = new Uint8Array(30);
    const hash = await store.put(bytes, "image/png", { owner: "ann" });
    await store.prune(Date.now() + farFuture);
    assert.equal(await store.get(hash, { owner: "ann" }), undefined);
    await store.put(bytes, "image/png", { owner: "bob" });
    assert.equal(await store.get(hash, { owner: "ann" }), undefined);
    assert.equal((await store.get(hash, { owner: "bob" }))?.bytes.length, 30);
  },
};

async function listTaskIds(store: Store, owner: string): Promise<string[]> {
  return (await store.listTasks({ owner, limit: 10 })).map(({ task_id }) => task_id);
}
