import assert from "node:assert/strict";
import { applyPatch, chatUsage } from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";
import { answer, ChatStage, lastNode } from "./chat-scenario.ts";
import type { Scenarios } from "./scenario.ts";

/** What has become of a chat since somebody has seen it. */
export const chatSinceScenarios: Scenarios = {
  "what changed since a stamp makes of the chat of then that of now": async (store, reopen) => {
    const stage = new ChatStage(store);
    const first = await stage.create("Trains", "When?", "At 9.", "Where?", "There.");
    const [user = "", answered = "", next = ""] = Object.keys(first.chat.nodes);
    const second = await stage.save(first, { type: "pin", node_id: answered, value: true });
    await stage.create("another, between");
    const third = await stage.save(second, {
      type: "delete_node",
      node_id: next,
      children: "delete",
    });
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const last = await stage.save(third, {
      type: "add_answer_version",
      node_id: answered,
      answer: answer("At 10.", { usage }),
    });
    const { chat_id: chatId } = last.chat;
    const again = await reopen();
    for (const seen of [first, second, third, last]) {
      const since = await again.chatSince(chatId, seen.stamp);
      assert.ok(since !== undefined);
      assert.deepEqual(applyPatch(seen.chat, since), last.chat);
      assert.deepEqual([since.from, since.stamp], [seen.stamp, last.stamp]);
      assert.deepEqual(since.usage, chatUsage(last.chat));
      assert.ok(!("deleted_at" in since));
      assert.ok(!Object.hasOwn(since.nodes, user), "nobody has changed the first message");
    }
    assert.deepEqual(await touched(again, chatId, second.stamp), [[answered], 2]);
    assert.deepEqual(await touched(again, chatId, third.stamp), [[answered], 0]);
    assert.deepEqual(await touched(again, chatId, last.stamp), [[], 0]);
  },

  "a node that is there again is not gone, and one that goes again is": async (store) => {
    const stage = new ChatStage(store);
    const first = await stage.create("a", "one", "two");
    const { chat_id: chatId } = first.chat;
    const node_id = lastNode(first.chat) ?? "";
    const remove = { type: "delete_node", node_id, children: "delete" } as const;
    const deleted = stage.edit(first.chat, remove);
    const [removal] = deleted.removals;
    assert.ok(removal !== undefined);
    const gone = await stage.saved(first, deleted.chat, deleted.removals);
    assert.deepEqual((await store.chatSince(chatId, first.stamp))?.gone, [node_id]);
    const back = await stage.save(gone, { type: "restore", removal });
    for (const seen of [first, gone]) {
      const since = await store.chatSince(chatId, seen.stamp);
      assert.deepEqual(since?.gone, []);
      assert.deepEqual(since && applyPatch(seen.chat, since), back.chat);
    }
    await stage.save(back, remove);
    assert.deepEqual((await store.chatSince(chatId, back.stamp))?.gone, [node_id]);
  },

  "answers that run are among what changed for as long as they do": async (store) => {
    const stage = new ChatStage(store);
    const kept = await stage.create("a", "one");
    const { chat_id: chatId } = kept.chat;
    const running = await stage.save(kept, {
      type: "add_answer",
      parent: lastNode(kept.chat) ?? "",
      answer: answer("", { status: "running", task_id: "task_1", output: [] }),
    });
    const node_id = lastNode(running.chat) ?? "";
    const named = await stage.save(running, { type: "rename", title: "b" });
    assert.deepEqual(await touched(store, chatId, named.stamp), [[node_id], 0]);
    const node = named.chat.nodes[node_id];
    const ended = await stage.save(named, {
      type: "finish_answer",
      node_id,
      version_id: node?.kind === "answer" ? node.version : "",
      end: { status: "completed", output: answer("done").output, references: [] },
    });
    assert.deepEqual(await touched(store, chatId, named.stamp), [[node_id], 0]);
    assert.deepEqual(await touched(store, chatId, ended.stamp), [[], 0]);
  },

  "it is not told of a stamp that the chat never was at, nor across its removal": async (store) => {
    const stage = new ChatStage(store);
    const other = await stage.create("other");
    const { chat, stamp } = await stage.create("a", "one");
    const { chat_id: chatId } = chat;
    for (const unknown of [0, other.stamp, stamp + 1, 1e15])
      assert.equal(await store.chatSince(chatId, unknown), undefined);
    assert.equal(await store.chatSince("nobody", stamp), undefined);
    const deletedAt = stage.world.now();
    await store.setDeleted(chatId, deletedAt);
    assert.equal((await store.chatSince(chatId, stamp))?.deleted_at, deletedAt);
    await store.removeChat(chatId);
    await store.createChats([{ chat }]);
    assert.equal(await store.chatSince(chatId, stamp), undefined);
    assert.ok((await store.chatSince(chatId, (await stage.open(chatId)).stamp)) !== undefined);
  },
};

/** The nodes that are told, and how many are gone. */
async function touched(store: Store, chatId: string, stamp: number): Promise<[string[], number]> {
  const since = await store.chatSince(chatId, stamp);
  assert.ok(since !== undefined);
  return [Object.keys(since.nodes), since.gone.length];
}
