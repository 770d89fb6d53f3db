import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applyEdit, importChats } from "@deltawire/tasks/chats";
import type { Chat, EditEnvironment, StoredChat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { measureLongestBlock } from "../../../test/cpu-time.ts";
import { openStore, type Store } from "../src/index.ts";
import { openTestStore, createTemporaryFolder } from "./test-store.ts";

/* The search index is updated in several transactions if a change has more text than one transaction should write. */

const maxTurnMs = 200;
let lastId = 0;
const editEnvironment: EditEnvironment = {
  newId: (prefix) => `${prefix}_${(lastId += 1)}`,
  now: () => new Date(1_770_000_000_000).toISOString(),
};

/** Each message ends with a unique word. */
function createLongChat(messages: number, characters: number): Chat {
  const words = "Some words of a long message that many people have written before. ";
  const text = words.repeat(Math.ceil(characters / words.length));
  const list = Array.from({ length: messages }, (_, nth) => ({
    role: "user",
    content: `${text} unique${nth}`,
  }));
  const imported = importChats(list, { ...editEnvironment, hashBlob: () => "" });
  const [first] = imported.ok ? imported.chats : [];
  if (first === undefined) throw new Error("not imported");
  return first.chat;
}

async function countHits(store: Store, query: string): Promise<number> {
  const found = await store.searchChats(query, { owner: "", limit: 10 });
  return found.reduce((sum, chat) => sum + chat.hits.length, 0);
}

async function readStoredChat(store: Store, chatId: string): Promise<StoredChat> {
  const stored = await store.getChat(chatId);
  if (stored === undefined) throw new Error("not stored");
  return stored;
}

test("creating, truncating and restoring a long chat blocks the event loop for at most 200 ms, and search finds the current text", async () => {
  const store = await openTestStore({ path: join(createTemporaryFolder(), "a.db") });
  const chat = createLongChat(1600, 10_000);
  expect(await store.getChatBytes(chat.chat_id)).toBe(0);
  expect(await measureLongestBlock(() => store.createChats([{ chat }]))).toBeLessThan(maxTurnMs);
  expect([await countHits(store, "unique0"), await countHits(store, "unique1599")]).toEqual([1, 1]);
  expect(await store.getChatBytes(chat.chat_id)).toBeGreaterThan(16_000_000);

  const complete = await readStoredChat(store, chat.chat_id);
  const second = complete.chat.nodes[chat.roots[0] ?? ""]?.children[0] ?? "";
  const deletion = applyEdit(
    complete.chat,
    { type: "delete_node", node_id: second, children: "delete" },
    editEnvironment,
  );
  if (!deletion.ok || deletion.removal === undefined) throw new Error("not deleted");
  const { chat: remainingChat, removal } = deletion;
  const deleting = measureLongestBlock(() =>
    store.saveChat(complete, remainingChat, { removals: [removal] }),
  );
  expect(await deleting).toBeLessThan(maxTurnMs);
  expect([await countHits(store, "unique0"), await countHits(store, "unique1599")]).toEqual([1, 0]);

  const before = await readStoredChat(store, chat.chat_id);
  const restoration = applyEdit(before.chat, { type: "restore", removal }, editEnvironment);
  if (!restoration.ok) throw new Error("not restored");
  const restoring = measureLongestBlock(() =>
    store.saveChat(before, restoration.chat, { restored: removal.removal_id }),
  );
  expect(await restoring).toBeLessThan(maxTurnMs);
  expect(await store.listRemovals(chat.chat_id)).toEqual([]);
  expect([await countHits(store, "unique0"), await countHits(store, "unique1599")]).toEqual([1, 1]);
}, 30_000);

test("an undo that a crash interrupted is completed by the next pruning", async () => {
  const path = join(createTemporaryFolder(), "a.db");
  const first = await openStore({ path });
  const chat = createLongChat(150, 10_000);
  await first.createChats([{ chat }]);
  const complete = await readStoredChat(first, chat.chat_id);
  const second = complete.chat.nodes[chat.roots[0] ?? ""]?.children[0] ?? "";
  const deletion = applyEdit(
    complete.chat,
    { type: "delete_node", node_id: second, children: "delete" },
    editEnvironment,
  );
  if (!deletion.ok || deletion.removal === undefined) throw new Error("not deleted");
  await first.saveChat(complete, deletion.chat, { removals: [deletion.removal] });
  await first.close();
  const { removal_id } = deletion.removal;
  const countRemovals = (database: DatabaseSync) =>
    database.prepare("SELECT count(*) AS n FROM chat_removals").get()?.["n"];
  // The state of the file after the first transaction of the undo.
  const database = new DatabaseSync(path);
  const number = database.prepare("SELECT number FROM chats").get()?.["number"] ?? 0;
  database
    .prepare("INSERT INTO meta (name, value) VALUES (?, ?)")
    .run(`undone:${removal_id}`, number);
  expect(countRemovals(database)).toBe(1);
  database.close();
  const store = await openStore({ path });
  expect(await store.getRemoval(chat.chat_id, removal_id)).toBeUndefined();
  expect(await store.listRemovals(chat.chat_id)).toEqual([]);
  await store.prune(Date.now());
  await store.close();
  const pruned = new DatabaseSync(path);
  expect(countRemovals(pruned)).toBe(0);
  const marks = pruned.prepare("SELECT count(*) AS n FROM meta WHERE name LIKE 'undone%'").get();
  expect(marks).toEqual({ n: 0 });
  pruned.close();
});

test("a chat that is removed while it is indexed leaves nothing in the index", async () => {
  const path = join(createTemporaryFolder(), "a.db");
  const store = await openStore({ path });
  const chat = createLongChat(100, 10_000);
  const creating = store.createChats([{ chat }]);
  while ((await store.getChat(chat.chat_id)) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([store.removeChat(chat.chat_id), creating]);
  expect(await countHits(store, "unique99")).toBe(0);
  await store.close();
  const database = new DatabaseSync(path);
  expect(database.prepare("SELECT count(*) AS n FROM chat_words").get()).toEqual({ n: 0 });
  expect(database.prepare("SELECT count(*) AS n FROM meta WHERE name = 'index'").get()).toEqual({
    n: 0,
  });
  database.close();
});

test("a message that is deleted before it is indexed is not found", async () => {
  const store = await openTestStore({ path: join(createTemporaryFolder(), "a.db") });
  const chat = createLongChat(100, 10_000);
  const creating = store.createChats([{ chat }]);
  let stored = await store.getChat(chat.chat_id);
  while (stored === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    stored = await store.getChat(chat.chat_id);
  }
  const lastNodeId = Object.keys(stored.chat.nodes).at(-1) ?? "";
  const message = { text: "shorter" };
  const edited = applyEdit(
    stored.chat,
    { type: "add_message_version", node_id: lastNodeId, message },
    editEnvironment,
  );
  const [oldVersionId = ""] =
    edited.ok && edited.chat.nodes[lastNodeId]?.kind === "user"
      ? edited.chat.nodes[lastNodeId].versions.map(({ version_id }) => version_id)
      : [];
  const deletion = edited.ok
    ? applyEdit(
        edited.chat,
        { type: "delete_version", node_id: lastNodeId, version_id: oldVersionId },
        editEnvironment,
      )
    : edited;
  if (!deletion.ok) throw new Error(deletion.reason);
  expect(await store.saveChat(stored, deletion.chat)).not.toBe("conflict");
  await creating;
  expect([await countHits(store, "unique98"), await countHits(store, "unique99")]).toEqual([1, 0]);
  expect(await countHits(store, "shorter")).toBe(1);
});

test("an unfinished index is rebuilt at the next pruning", async () => {
  const path = join(createTemporaryFolder(), "a.db");
  const first = await openStore({ path });
  const chat = createLongChat(50, 100);
  await first.createChats([{ chat: { ...chat, title: "A chat about lighthouses" } }]);
  await first.close();
  const database = new DatabaseSync(path);
  database.exec(`
    DELETE FROM chat_words WHERE number > (SELECT min(number) + 10 FROM chat_words);
    INSERT INTO meta (name, value) VALUES ('index', '1');
  `);
  database.close();
  const store = await openTestStore({ path });
  expect(await countHits(store, "unique49")).toBe(0);
  await store.prune(Date.now());
  expect([await countHits(store, "unique0"), await countHits(store, "unique49")]).toEqual([1, 1]);
  expect(await store.searchChats("lighthouses", { owner: "", limit: 1 })).toHaveLength(1);
  // If a text were indexed twice, it would still be found after its removal.
  await store.removeChat(chat.chat_id);
  expect(await countHits(store, "unique49")).toBe(0);
});
