import assert from "node:assert/strict";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { createAnswer, ChatBuilder, getLastNodeId } from "./chat-builder.ts";
import { assertRejects, type StoreScenarios } from "./scenario.ts";

const farFuture = 100 * 365 * 86_400_000;

/** Data that is stored next to chats: removals, replays, placeholders, variables and grants. */
export const chatSideDataScenarios: StoreScenarios = {
  "removals are stored with the save that made them and listed newest first": async (
    store,
    reopen,
  ) => {
    const builder = new ChatBuilder(store);
    let stored = await builder.create("a", "one", "two", "three");
    const allRemovals = [];
    for (let count = 0; count < 2; count += 1) {
      const lastNodeId = getLastNodeId(stored.chat) ?? "";
      const { chat, removals } = builder.edit(stored.chat, {
        type: "delete_node",
        node_id: lastNodeId,
        children: "delete",
      });
      stored = await builder.saveChat(stored, chat, removals);
      allRemovals.unshift(...removals);
    }
    const reopened = await reopen();
    const chatId = stored.chat.chat_id;
    assert.deepEqual(await reopened.listRemovals(chatId), allRemovals);
    assert.deepEqual(
      await reopened.getRemoval(chatId, allRemovals[1]?.removal_id ?? ""),
      allRemovals[1],
    );
    assert.equal(await reopened.getRemoval(chatId, "nothing"), undefined);
    assert.deepEqual(await reopened.listRemovals("nobody"), []);
  },

  "a removal can be undone once, and its blobs are kept": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const hash = await store.put(Uint8Array.of(1, 2), "image/png");
    const stored = await builder.create("a", "one", "two", `/api/blobs/${hash}`);
    const { chat_id: chatId } = stored.chat;
    const { chat, removals } = builder.edit(stored.chat, {
      type: "delete_node",
      node_id: getLastNodeId(stored.chat) ?? "",
      children: "delete",
    });
    const afterDeletion = await builder.saveChat(stored, chat, removals);
    const [removal] = removals;
    assert.ok(removal !== undefined);
    const restoration = builder.edit(afterDeletion.chat, { type: "restore", removal });
    const saveOptions = { restored: removal.removal_id };
    assert.equal(
      await store.saveChat({ ...afterDeletion, stamp: 99 }, restoration.chat, saveOptions),
      "conflict",
    );
    assert.deepEqual(await store.listRemovals(chatId), [removal]);
    assert.ok((await store.saveChat(afterDeletion, restoration.chat, saveOptions)) !== "conflict");
    const reopened = await reopen();
    assert.deepEqual(await reopened.listRemovals(chatId), []);
    assert.equal(await reopened.getRemoval(chatId, removal.removal_id), undefined);
    await reopened.prune(Date.now() + 2 * 3_600_000);
    assert.ok((await reopened.get(hash)) !== undefined);
  },

  "replays are stored by version when a chat is created or saved": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const chat = builder.build("a", "one", "two");
    await store.createChats([{ chat, replays: { v1: [{ type: "reasoning" }, 1] } }]);
    const stored = await builder.open(chat.chat_id);
    const after = builder.addText(chat, "three");
    const replays = { v1: [], v2: [{ type: "message" }] };
    const conflict = await store.saveChat({ ...stored, stamp: 99 }, after, { replays });
    assert.equal(conflict, "conflict");
    assert.deepEqual(await store.getReplays(chat.chat_id), { v1: [{ type: "reasoning" }, 1] });
    assert.deepEqual(await store.getReplays(chat.chat_id, ["v0"]), {});
    await store.saveChat(stored, after, { replays });
    const reopened = await reopen();
    assert.deepEqual(await reopened.getReplays(chat.chat_id), replays);
    assert.deepEqual(await reopened.getReplays(chat.chat_id, ["v2"]), { v2: replays.v2 });
  },

  "a private value keeps its placeholder": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const { chat_id: chatId } = (await builder.create("a")).chat;
    const email = { placeholder: "{{EMAIL_1_x7f3}}", value: "a@example.org", kind: "email" };
    const name = { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" };
    assert.equal(await store.addPlaceholders(chatId, [email]), "stored");
    assert.equal(await store.addPlaceholders(chatId, [email, name]), "stored");
    const another = { placeholder: "{{NAME_3_x7f3}}", value: "Eve", kind: "name" };
    for (const conflicting of [
      { ...name, value: "Bob" },
      { ...email, placeholder: "{{EMAIL_2_x7f3}}" },
    ])
      assert.equal(await store.addPlaceholders(chatId, [another, conflicting]), "conflict");
    await assertRejects(store.addPlaceholders("nobody", [email]), "store_failed");
    const reopened = await reopen();
    assert.deepEqual(await reopened.listPlaceholders(chatId), [email, name]);
    assert.deepEqual(await reopened.listPlaceholders(chatId, 1), [name]);
    assert.deepEqual(await reopened.listPlaceholders(chatId, 2), []);
  },

  "only the first variable of a call's result is stored": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const first = createVariable("read_1", "call_1");
    const chat = builder.build("a");
    await store.createChats([{ chat, variables: [first] }]);
    const chatId = chat.chat_id;
    assert.deepEqual(await store.addVariable(chatId, createVariable("read_2", "call_1")), first);
    const second = createVariable("read_2", "call_2");
    assert.deepEqual(await store.addVariable(chatId, second), second);
    await assertRejects(
      store.addVariable(chatId, createVariable("read_2", "call_3")),
      "store_failed",
    );
    assert.deepEqual(await (await reopen()).listVariables(chatId), [first, second]);
    await assertRejects(store.addVariable("nobody", second), "store_failed");
  },

  "a blob is kept while anything in a chat refers to it, then pruned": async (store) => {
    const builder = new ChatBuilder(store);
    const [messageBlob = "", replayBlob = "", variableBlob = "", answerBlob = ""] =
      await Promise.all([1, 2, 3, 4].map((byte) => store.put(Uint8Array.of(byte), "image/png")));
    const pruneAndCheckBlobs = async () => {
      await store.prune(Date.now() + 2 * 3_600_000);
      const hashes = [messageBlob, replayBlob, variableBlob, answerBlob];
      return Promise.all(hashes.map(async (hash) => (await store.get(hash)) !== undefined));
    };
    let stored = await builder.create(
      "a",
      "one",
      `![](/api/blobs/${answerBlob})`,
      `/api/blobs/${messageBlob}`,
    );
    const { chat_id: chatId } = stored.chat;
    const image = { type: "image", image_url: `/api/blobs/${replayBlob}` };
    const saved = await store.saveChat(stored, stored.chat, { replays: { v: [image] } });
    assert.ok(saved !== "conflict");
    await store.addVariable(chatId, {
      ...createVariable("v", "c"),
      url: `/api/blobs/${variableBlob}`,
    });
    assert.deepEqual(await pruneAndCheckBlobs(), [true, true, true, true]);
    const { chat, removals } = builder.edit(saved.chat, {
      type: "delete_node",
      node_id: getLastNodeId(saved.chat) ?? "",
      children: "delete",
    });
    stored = await builder.saveChat(saved, chat, removals);
    assert.deepEqual(await pruneAndCheckBlobs(), [true, true, true, true]);
    const withoutReplay = await store.saveChat(stored, stored.chat, { replays: { v: [] } });
    assert.ok(withoutReplay !== "conflict");
    assert.deepEqual(await pruneAndCheckBlobs(), [true, false, true, true]);
    await store.removeChat(chatId);
    assert.deepEqual(await pruneAndCheckBlobs(), [false, false, false, false]);
  },

  "a removed chat leaves no data, including grants of its session": async (store) => {
    const builder = new ChatBuilder(store);
    const { chat } = await builder.create("a", "one", "two");
    const chatId = chat.chat_id;
    const variables = [createVariable("v", "c")];
    const removedChat = { ...chat, chat_id: "other" };
    await store.createChats([{ chat: removedChat, replays: { v: [1] }, variables }]);
    const placeholder = { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" };
    for (const id of [chatId, "other"]) {
      await store.addGrant(id, { tool: "shell" });
      await store.addPlaceholders(id, [placeholder]);
    }
    await store.removeChat("other");
    assert.equal(await store.getChat("other"), undefined);
    assert.deepEqual(await store.getReplays("other"), {});
    assert.deepEqual(await store.listVariables("other"), []);
    assert.deepEqual(await store.listPlaceholders("other"), []);
    assert.deepEqual(await store.listGrants("other"), []);
    assert.deepEqual(await store.listGrants(chatId), [{ tool: "shell" }]);
    assert.deepEqual(await store.listPlaceholders(chatId), [placeholder]);
    await store.createChats([{ chat: removedChat }]);
    assert.deepEqual(await store.getReplays("other"), {});
    assert.equal((await store.searchChats("two", { owner: "", limit: 10 })).length, 2);
  },

  "pruning removes only chats that were deleted long ago": async (store) => {
    const builder = new ChatBuilder(store);
    const [stored, old] = [await builder.create("kept", "one"), await builder.create("old", "one")];
    const { chat_id: chatId } = stored.chat;
    await store.addGrant(chatId, { tool: "shell" });
    const now = Date.now();
    await store.setDeleted(old.chat.chat_id, new Date(now).toISOString());
    await store.prune(now + 1000);
    assert.ok((await store.getChat(old.chat.chat_id)) !== undefined);
    await store.prune(now + farFuture);
    assert.equal(await store.getChat(old.chat.chat_id), undefined);
    assert.deepEqual(await store.getChat(chatId), stored);
    assert.deepEqual(await store.listGrants(chatId), [{ tool: "shell" }]);
    const changes = await store.listChatChanges("", 3, 10);
    assert.deepEqual(changes, [{ type: "chat.removed", stamp: 4, chat_id: old.chat.chat_id }]);
    await store.prune(now + 2 * farFuture);
    assert.deepEqual(await store.listChatChanges("", 3, 10), []);
    assert.deepEqual(await store.getChatStamps(), { head: 4, oldest: 4 });
  },

  "an old removal can no longer be undone, and its blobs are pruned": async (store) => {
    const builder = new ChatBuilder(store);
    const hash = await store.put(Uint8Array.of(1, 2), "image/png");
    let stored = await builder.create("a", "one");
    stored = await builder.saveEdit(stored, {
      type: "add_answer",
      parent: getLastNodeId(stored.chat) ?? "",
      answer: createAnswer(`![](/api/blobs/${hash})`),
    });
    const { chat, removals } = builder.edit(stored.chat, {
      type: "delete_node",
      node_id: getLastNodeId(stored.chat) ?? "",
      children: "delete",
    });
    await builder.saveChat(stored, chat, removals);
    await store.prune(Date.now() + farFuture);
    assert.deepEqual(await store.listRemovals(chat.chat_id), []);
    assert.equal(await store.get(hash), undefined);
  },
};

function createVariable(name: string, call: string): ChatVariable {
  return {
    name,
    call_id: call,
    of: "result",
    tool: "read",
    length: 5000,
    url: `/api/blobs/${"0".repeat(64)}`,
    created_at: "2026-01-02T03:04:05.000Z",
  };
}
