import { join } from "node:path";
import { openStore } from "@deltawire/store";
import { expect, test } from "vitest";
import { ChatBuilder, searchTitles, getLastNodeId } from "../contract/chat-builder.ts";
import { startChatRemoval } from "../src/sqlite/erase-chat.ts";
import { openForWriting } from "../src/sqlite/database.ts";
import { openTestStore, startStoreProcess, createTemporaryFolder } from "./test-store.ts";

const day = 86_400_000;

test("each save of several concurrent writers of a chat is either stored or a conflict", async () => {
  const store = await openTestStore({ path: join(createTemporaryFolder(), "tasks.db") });
  const builder = new ChatBuilder(store);
  const { chat } = await builder.create("shared", "begin");
  let conflicts = 0;
  const write = async (text: string): Promise<void> => {
    for (;;) {
      const stored = await builder.open(chat.chat_id);
      const saved = await store.saveChat(stored, builder.addText(stored.chat, text));
      if (saved !== "conflict") return;
      conflicts += 1;
    }
  };
  const texts = Array.from({ length: 12 }, (_, index) => `text${index}`);
  await Promise.all(texts.map(write));
  const stored = await builder.open(chat.chat_id);
  const storedTexts = Object.values(stored.chat.nodes).flatMap((node) =>
    node.kind === "user" ? node.versions.map(({ text }) => text) : [],
  );
  expect(storedTexts.toSorted()).toEqual(["begin", ...texts].toSorted());
  expect(conflicts).toBeGreaterThan(0);
  expect(await store.getChatStamps()).toEqual({ head: 13, oldest: 0 });
});

test("a saved chat survives kill -9, with its search index and summary", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const child = startStoreProcess([path, "chat"]);
  await child.waitForLines(20);
  child.process.kill("SIGKILL");
  await child.exited;
  const store = await openTestStore({ path });
  const acknowledged = Number(child.lines.at(-1));
  const { chat, stamp } = await new ChatBuilder(store).open("chat_1");
  expect(stamp).toBeGreaterThanOrEqual(acknowledged);
  expect(Object.keys(chat.nodes)).toHaveLength(stamp - 1);
  expect(await store.searchChats(`message${stamp - 1}`, { owner: "", limit: 1 })).toHaveLength(1);
  expect((await store.getChatStamps()).head).toBe(stamp);
  expect((await store.listChats({ owner: "", limit: 1 }))[0]).toMatchObject({
    messages: stamp - 1,
    stamp,
  });
});

test("pruning finishes the removal of a chat that another process started", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const first = await openStore({ path });
  const builder = new ChatBuilder(first);
  const { chat } = await builder.create(
    "gone",
    ...Array.from({ length: 50 }, (_, index) => `word ${index}`),
  );
  await builder.create("stored", "word");
  await first.close();
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  db.transaction(() => startChatRemoval(db, chat.chat_id, Date.now()));
  db.close();
  const store = await openStore({ path });
  expect(await searchTitles(store, "word")).toEqual(["stored"]);
  await store.prune(Date.now());
  expect(await searchTitles(store, "word")).toEqual(["stored"]);
  await store.close();
  const connection = openForWriting(path, { timeoutMs: 100, now: Date.now });
  for (const table of ["chat_nodes", "chat_words"])
    expect(connection.get(`SELECT count(*) AS n FROM ${table}`)).toEqual({ n: 2 });
  connection.close();
});

test("deleted chats and messages are kept for the configured time", async () => {
  const start = Date.now();
  const store = await openTestStore({ path: ":memory:", deletedDays: 3 });
  const builder = new ChatBuilder(store);
  const stored = await builder.create("a", "one", "two");
  const last = getLastNodeId(stored.chat) ?? "";
  const { chat, removals } = builder.edit(stored.chat, {
    type: "delete_node",
    node_id: last,
    children: "delete",
  });
  await builder.saveChat(stored, chat, removals);
  await store.setDeleted(chat.chat_id, new Date(start).toISOString());
  await store.prune(start + 2.9 * day);
  expect(await store.listRemovals(chat.chat_id)).toEqual(removals);
  await store.setDeleted(chat.chat_id, null);
  await store.prune(start + 3.1 * day);
  expect(await store.listRemovals(chat.chat_id)).toEqual([]);
  expect(await store.getChat(chat.chat_id)).toBeDefined();
  await store.setDeleted(chat.chat_id, new Date(start).toISOString());
  await store.prune(start + 3.1 * day);
  expect(await store.getChat(chat.chat_id)).toBeUndefined();
});

test("a read-only connection can read and search chats while another one has the store open for writing", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path });
  const stored = await new ChatBuilder(store).create("shared", "hello");
  const reader = await openTestStore({ path, readOnly: true });
  expect(await reader.getChat(stored.chat.chat_id)).toEqual(stored);
  expect(await searchTitles(reader, "hel")).toEqual(["shared"]);
  await expect(reader.setDeleted(stored.chat.chat_id, null)).rejects.toMatchObject({
    code: "store_unreachable",
  });
});
