import assert from "node:assert/strict";
import { applyChatPatch, sumChatUsage } from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";
import { createAnswer, ChatBuilder, getLastNodeId } from "./chat-builder.ts";
import type { StoreScenarios } from "./scenario.ts";

/** Reading the changes of a chat since a stamp. */
export const chatUpdateScenarios: StoreScenarios = {
  "the changes since a stamp turn the old chat into the current one": async (store, reopen) => {
    const builder = new ChatBuilder(store);
    const first = await builder.create("Trains", "When?", "At 9.", "Where?", "There.");
    const [messageId = "", answerId = "", nextMessageId = ""] = Object.keys(first.chat.nodes);
    const second = await builder.saveEdit(first, { type: "pin", node_id: answerId, value: true });
    await builder.create("another, between");
    const third = await builder.saveEdit(second, {
      type: "delete_node",
      node_id: nextMessageId,
      children: "delete",
    });
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const last = await builder.saveEdit(third, {
      type: "add_answer_version",
      node_id: answerId,
      answer: createAnswer("At 10.", { usage }),
    });
    const { chat_id: chatId } = last.chat;
    const reopened = await reopen();
    for (const base of [first, second, third, last]) {
      const update = await reopened.getChatUpdate(chatId, base.stamp);
      assert.ok(update !== undefined);
      assert.deepEqual(applyChatPatch(base.chat, update), last.chat);
      assert.deepEqual([update.from, update.stamp], [base.stamp, last.stamp]);
      assert.deepEqual(update.usage, sumChatUsage(last.chat));
      assert.ok(!("deleted_at" in update));
      assert.ok(!Object.hasOwn(update.nodes, messageId), "the first message is unchanged");
    }
    assert.deepEqual(await listChangedNodes(reopened, chatId, second.stamp), [[answerId], 2]);
    assert.deepEqual(await listChangedNodes(reopened, chatId, third.stamp), [[answerId], 0]);
    assert.deepEqual(await listChangedNodes(reopened, chatId, last.stamp), [[], 0]);
  },

  "a restored node is not reported as deleted until it is deleted again": async (store) => {
    const builder = new ChatBuilder(store);
    const first = await builder.create("a", "one", "two");
    const { chat_id: chatId } = first.chat;
    const node_id = getLastNodeId(first.chat) ?? "";
    const remove = { type: "delete_node", node_id, children: "delete" } as const;
    const deleted = builder.edit(first.chat, remove);
    const [removal] = deleted.removals;
    assert.ok(removal !== undefined);
    const afterDeletion = await builder.saveChat(first, deleted.chat, deleted.removals);
    assert.deepEqual((await store.getChatUpdate(chatId, first.stamp))?.deleted_node_ids, [node_id]);
    const afterRestore = await builder.saveEdit(afterDeletion, { type: "restore", removal });
    for (const base of [first, afterDeletion]) {
      const update = await store.getChatUpdate(chatId, base.stamp);
      assert.deepEqual(update?.deleted_node_ids, []);
      assert.deepEqual(update && applyChatPatch(base.chat, update), afterRestore.chat);
    }
    await builder.saveEdit(afterRestore, remove);
    assert.deepEqual((await store.getChatUpdate(chatId, afterRestore.stamp))?.deleted_node_ids, [
      node_id,
    ]);
  },

  "running answers are always among the changes": async (store) => {
    const builder = new ChatBuilder(store);
    const stored = await builder.create("a", "one");
    const { chat_id: chatId } = stored.chat;
    const running = await builder.saveEdit(stored, {
      type: "add_answer",
      parent: getLastNodeId(stored.chat) ?? "",
      answer: createAnswer("", { status: "running", task_id: "task_1", output: [] }),
    });
    const node_id = getLastNodeId(running.chat) ?? "";
    const renamed = await builder.saveEdit(running, { type: "rename", title: "b" });
    assert.deepEqual(await listChangedNodes(store, chatId, renamed.stamp), [[node_id], 0]);
    const node = renamed.chat.nodes[node_id];
    const finished = await builder.saveEdit(renamed, {
      type: "finish_answer",
      node_id,
      version_id: node?.kind === "answer" ? node.version : "",
      end: { status: "completed", output: createAnswer("done").output, references: [] },
    });
    assert.deepEqual(await listChangedNodes(store, chatId, renamed.stamp), [[node_id], 0]);
    assert.deepEqual(await listChangedNodes(store, chatId, finished.stamp), [[], 0]);
  },

  "there is no update for an unknown stamp, or after the chat was removed": async (store) => {
    const builder = new ChatBuilder(store);
    const otherChat = await builder.create("other");
    const { chat, stamp } = await builder.create("a", "one");
    const { chat_id: chatId } = chat;
    for (const unknown of [0, otherChat.stamp, stamp + 1, 1e15])
      assert.equal(await store.getChatUpdate(chatId, unknown), undefined);
    assert.equal(await store.getChatUpdate("nobody", stamp), undefined);
    const deletedAt = builder.editEnvironment.now();
    await store.setDeleted(chatId, deletedAt);
    assert.equal((await store.getChatUpdate(chatId, stamp))?.deleted_at, deletedAt);
    await store.removeChat(chatId);
    await store.createChats([{ chat }]);
    assert.equal(await store.getChatUpdate(chatId, stamp), undefined);
    assert.ok(
      (await store.getChatUpdate(chatId, (await builder.open(chatId)).stamp)) !== undefined,
    );
  },
};

/** Returns the changed nodes and the number of deleted ones. */
async function listChangedNodes(
  store: Store,
  chatId: string,
  stamp: number,
): Promise<[string[], number]> {
  const update = await store.getChatUpdate(chatId, stamp);
  assert.ok(update !== undefined);
  return [Object.keys(update.nodes), update.deleted_node_ids.length];
}
