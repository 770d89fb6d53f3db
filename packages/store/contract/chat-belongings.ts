import assert from "node:assert/strict";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { answer, ChatStage, lastNode } from "./chat-scenario.ts";
import { assertRejects, type Scenarios } from "./scenario.ts";

const farFuture = 100 * 365 * 86_400_000;

/** What is kept beside chats. */
export const chatBelongingScenarios: Scenarios = {
  "what a delete took is kept with the save, the newest first": async (store, reopen) => {
    const stage = new ChatStage(store);
    let kept = await stage.create("a", "one", "two", "three");
    const all = [];
    for (let at = 0; at < 2; at += 1) {
      const last = lastNode(kept.chat) ?? "";
      const { chat, removals } = stage.edit(kept.chat, {
        type: "delete_node",
        node_id: last,
        children: "delete",
      });
      kept = await stage.saved(kept, chat, removals);
      all.unshift(...removals);
    }
    const again = await reopen();
    const chatId = kept.chat.chat_id;
    assert.deepEqual(await again.removals(chatId), all);
    assert.deepEqual(await again.removal(chatId, all[1]?.removal_id ?? ""), all[1]);
    assert.equal(await again.removal(chatId, "nothing"), undefined);
    assert.deepEqual(await again.removals("nobody"), []);
  },

  "what was put back can be put back no more, and its blobs stay with it": async (
    store,
    reopen,
  ) => {
    const stage = new ChatStage(store);
    const hash = await store.put(Uint8Array.of(1, 2), "image/png");
    const kept = await stage.create("a", "one", "two", `/api/blobs/${hash}`);
    const { chat_id: chatId } = kept.chat;
    const { chat, removals } = stage.edit(kept.chat, {
      type: "delete_node",
      node_id: lastNode(kept.chat) ?? "",
      children: "delete",
    });
    const gone = await stage.saved(kept, chat, removals);
    const [removal] = removals;
    assert.ok(removal !== undefined);
    const back = stage.edit(gone.chat, { type: "restore", removal });
    const more = { restored: removal.removal_id };
    assert.equal(await store.saveChat({ ...gone, stamp: 99 }, back.chat, more), "conflict");
    assert.deepEqual(await store.removals(chatId), [removal]);
    assert.ok((await store.saveChat(gone, back.chat, more)) !== "conflict");
    const again = await reopen();
    assert.deepEqual(await again.removals(chatId), []);
    assert.equal(await again.removal(chatId, removal.removal_id), undefined);
    await again.prune(Date.now() + 2 * 3_600_000);
    assert.ok((await again.get(hash)) !== undefined);
  },

  "what the model gets back is kept by version, with the chat or later": async (store, reopen) => {
    const stage = new ChatStage(store);
    const chat = stage.chat("a", "one", "two");
    await store.createChats([{ chat, replays: { v1: [{ type: "reasoning" }, 1] } }]);
    const kept = await stage.open(chat.chat_id);
    const after = stage.said(chat, "three");
    const replays = { v1: [], v2: [{ type: "message" }] };
    const conflict = await store.saveChat({ ...kept, stamp: 99 }, after, { replays });
    assert.equal(conflict, "conflict");
    assert.deepEqual(await store.replays(chat.chat_id), { v1: [{ type: "reasoning" }, 1] });
    assert.deepEqual(await store.replays(chat.chat_id, ["v0"]), {});
    await store.saveChat(kept, after, { replays });
    const again = await reopen();
    assert.deepEqual(await again.replays(chat.chat_id), replays);
    assert.deepEqual(await again.replays(chat.chat_id, ["v2"]), { v2: replays.v2 });
  },

  "a private value keeps its placeholder": async (store, reopen) => {
    const stage = new ChatStage(store);
    const { chat_id: chatId } = (await stage.create("a")).chat;
    const email = { placeholder: "{{EMAIL_1_x7f3}}", value: "a@example.org", kind: "email" };
    const name = { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" };
    await store.addPlaceholders(chatId, [email]);
    await store.addPlaceholders(chatId, [{ ...email, placeholder: "{{EMAIL_2_x7f3}}" }, name]);
    const other = { ...name, value: "Bob" };
    const more = { placeholder: "{{NAME_3_x7f3}}", value: "Eve", kind: "name" };
    await assertRejects(store.addPlaceholders(chatId, [more, other]), "store_failed");
    await assertRejects(store.addPlaceholders("nobody", [email]), "store_failed");
    assert.deepEqual(await (await reopen()).placeholders(chatId), [email, name]);
  },

  "a variable is kept once for its call and part": async (store, reopen) => {
    const stage = new ChatStage(store);
    const made = variable("read_1", "call_1");
    const chat = stage.chat("a");
    await store.createChats([{ chat, variables: [made] }]);
    const chatId = chat.chat_id;
    assert.deepEqual(await store.addVariable(chatId, variable("read_2", "call_1")), made);
    const second = variable("read_2", "call_2");
    assert.deepEqual(await store.addVariable(chatId, second), second);
    assert.deepEqual(await (await reopen()).variables(chatId), [made, second]);
    await assertRejects(store.addVariable("nobody", second), "store_failed");
  },

  "a blob stays while anything of a chat refers to it, and goes with the last of it": async (
    store,
  ) => {
    const stage = new ChatStage(store);
    const [inMessage = "", inReplay = "", inVariable = "", inAnswer = ""] = await Promise.all(
      [1, 2, 3, 4].map((byte) => store.put(Uint8Array.of(byte), "image/png")),
    );
    const isThere = async () => {
      await store.prune(Date.now() + 2 * 3_600_000);
      const hashes = [inMessage, inReplay, inVariable, inAnswer];
      return Promise.all(hashes.map(async (hash) => (await store.get(hash)) !== undefined));
    };
    let kept = await stage.create(
      "a",
      "one",
      `![](/api/blobs/${inAnswer})`,
      `/api/blobs/${inMessage}`,
    );
    const { chat_id: chatId } = kept.chat;
    const image = { type: "image", image_url: `/api/blobs/${inReplay}` };
    const saved = await store.saveChat(kept, kept.chat, { replays: { v: [image] } });
    assert.ok(saved !== "conflict");
    await store.addVariable(chatId, { ...variable("v", "c"), url: `/api/blobs/${inVariable}` });
    assert.deepEqual(await isThere(), [true, true, true, true]);
    const { chat, removals } = stage.edit(saved.chat, {
      type: "delete_node",
      node_id: lastNode(saved.chat) ?? "",
      children: "delete",
    });
    kept = await stage.saved(saved, chat, removals);
    assert.deepEqual(await isThere(), [true, true, true, true]);
    const again = await store.saveChat(kept, kept.chat, { replays: { v: [] } });
    assert.ok(again !== "conflict");
    assert.deepEqual(await isThere(), [true, false, true, true]);
    await store.removeChat(chatId);
    assert.deepEqual(await isThere(), [false, false, false, false]);
  },

  "a removed chat leaves nothing, also of its session": async (store) => {
    const stage = new ChatStage(store);
    const { chat } = await stage.create("a", "one", "two");
    const chatId = chat.chat_id;
    const variables = [variable("v", "c")];
    const other = { ...chat, chat_id: "other" };
    await store.createChats([{ chat: other, replays: { v: [1] }, variables }]);
    const placeholder = { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" };
    for (const id of [chatId, "other"]) {
      await store.addGrant(id, { tool: "shell" });
      await store.addPlaceholders(id, [placeholder]);
    }
    await store.removeChat("other");
    assert.equal(await store.chat("other"), undefined);
    assert.deepEqual(await store.replays("other"), {});
    assert.deepEqual(await store.variables("other"), []);
    assert.deepEqual(await store.placeholders("other"), []);
    assert.deepEqual(await store.grants("other"), []);
    assert.deepEqual(await store.grants(chatId), [{ tool: "shell" }]);
    assert.deepEqual(await store.placeholders(chatId), [placeholder]);
    await store.createChats([{ chat: other }]);
    assert.deepEqual(await store.replays("other"), {});
    assert.equal((await store.searchChats("two", { limit: 10 })).length, 2);
  },

  "retention leaves chats alone, but for those that were deleted long ago": async (store) => {
    const stage = new ChatStage(store);
    const [kept, old] = [await stage.create("kept", "one"), await stage.create("old", "one")];
    const { chat_id: chatId } = kept.chat;
    await store.addGrant(chatId, { tool: "shell" });
    const now = Date.now();
    await store.setDeleted(old.chat.chat_id, new Date(now).toISOString());
    await store.prune(now + 1000);
    assert.ok((await store.chat(old.chat.chat_id)) !== undefined);
    await store.prune(now + farFuture);
    assert.equal(await store.chat(old.chat.chat_id), undefined);
    assert.deepEqual(await store.chat(chatId), kept);
    assert.deepEqual(await store.grants(chatId), [{ tool: "shell" }]);
    const changes = await store.chatChanges(3, 10);
    assert.deepEqual(changes, [{ type: "chat.removed", stamp: 4, chat_id: old.chat.chat_id }]);
    await store.prune(now + 2 * farFuture);
    assert.deepEqual(await store.chatChanges(3, 10), []);
    assert.deepEqual(await store.chatStamps(), { head: 4, oldest: 4 });
  },

  "an answer that was deleted long ago can be put back no more, and its blobs go": async (
    store,
  ) => {
    const stage = new ChatStage(store);
    const hash = await store.put(Uint8Array.of(1, 2), "image/png");
    let kept = await stage.create("a", "one");
    kept = await stage.save(kept, {
      type: "add_answer",
      parent: lastNode(kept.chat) ?? "",
      answer: answer(`![](/api/blobs/${hash})`),
    });
    const { chat, removals } = stage.edit(kept.chat, {
      type: "delete_node",
      node_id: lastNode(kept.chat) ?? "",
      children: "delete",
    });
    await stage.saved(kept, chat, removals);
    await store.prune(Date.now() + farFuture);
    assert.deepEqual(await store.removals(chat.chat_id), []);
    assert.equal(await store.get(hash), undefined);
  },
};

function variable(name: string, call: string): ChatVariable {
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
