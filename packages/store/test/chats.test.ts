import { join } from "node:path";
import { openStore } from "@deltawire/store";
import { expect, test } from "vitest";
import { ChatStage, found, lastNode } from "../contract/chat-scenario.ts";
import { startRemoval } from "../src/chats/remove-chat.ts";
import { openForWriting } from "../src/database.ts";
import { opened, startChild, temporaryFolder } from "./opened.ts";

const day = 86_400_000;

test("of many writers of one chat each save is kept or a conflict, and none is lost", async () => {
  const store = await opened({ path: join(temporaryFolder(), "tasks.db") });
  const stage = new ChatStage(store);
  const { chat } = await stage.create("shared", "begin");
  let conflicts = 0;
  const write = async (text: string): Promise<void> => {
    for (;;) {
      const kept = await stage.open(chat.chat_id);
      const saved = await store.saveChat(kept, stage.said(kept.chat, text));
      if (saved !== "conflict") return;
      conflicts += 1;
    }
  };
  const texts = Array.from({ length: 12 }, (_, at) => `text${at}`);
  await Promise.all(texts.map(write));
  const kept = await stage.open(chat.chat_id);
  const said = Object.values(kept.chat.nodes).flatMap((node) =>
    node.kind === "user" ? node.versions.map(({ text }) => text) : [],
  );
  expect(said.toSorted()).toEqual(["begin", ...texts].toSorted());
  expect(conflicts).toBeGreaterThan(0);
  expect(await store.chatStamps()).toEqual({ head: 13, oldest: 0 });
});

test("a chat that was saved outlives kill -9, with its words and its running answer", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const child = startChild([path, "chat"]);
  await child.printed(20);
  child.process.kill("SIGKILL");
  await child.ended;
  const store = await opened({ path });
  const acknowledged = Number(child.lines.at(-1));
  const { chat, stamp } = await new ChatStage(store).open("chat_1");
  expect(stamp).toBeGreaterThanOrEqual(acknowledged);
  expect(Object.keys(chat.nodes)).toHaveLength(stamp - 1);
  expect(await store.searchChats(`message${stamp - 1}`, { limit: 1 })).toHaveLength(1);
  expect((await store.chatStamps()).head).toBe(stamp);
  expect((await store.listChats({ limit: 1 }))[0]).toMatchObject({ messages: stamp - 1, stamp });
});

test("one process ends the removal that another began", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const first = await openStore({ path });
  const stage = new ChatStage(first);
  const { chat } = await stage.create(
    "gone",
    ...Array.from({ length: 50 }, (_, at) => `word ${at}`),
  );
  await stage.create("kept", "word");
  await first.close();
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  db.transaction(() => startRemoval(db, chat.chat_id, Date.now()));
  db.close();
  const store = await openStore({ path });
  expect(await found(store, "word")).toEqual(["kept"]);
  await store.prune(Date.now());
  expect(await found(store, "word")).toEqual(["kept"]);
  await store.close();
  const rows = openForWriting(path, { timeoutMs: 100, now: Date.now });
  for (const table of ["chat_nodes", "chat_words"])
    expect(rows.get(`SELECT count(*) AS n FROM ${table}`)).toEqual({ n: 2 });
  rows.close();
});

test("what was deleted within a chat, and deleted chats, can be restored for as long as is set", async () => {
  const start = Date.now();
  const store = await opened({ path: ":memory:", deletedDays: 3 });
  const stage = new ChatStage(store);
  const kept = await stage.create("a", "one", "two");
  const last = lastNode(kept.chat) ?? "";
  const { chat, removals } = stage.edit(kept.chat, {
    type: "delete_node",
    node_id: last,
    children: "delete",
  });
  await stage.saved(kept, chat, removals);
  await store.setDeleted(chat.chat_id, new Date(start).toISOString());
  await store.prune(start + 2.9 * day);
  expect(await store.removals(chat.chat_id)).toEqual(removals);
  await store.setDeleted(chat.chat_id, null);
  await store.prune(start + 3.1 * day);
  expect(await store.removals(chat.chat_id)).toEqual([]);
  expect(await store.chat(chat.chat_id)).toBeDefined();
  await store.setDeleted(chat.chat_id, new Date(start).toISOString());
  await store.prune(start + 3.1 * day);
  expect(await store.chat(chat.chat_id)).toBeUndefined();
});

test("a chat is read beside the process that writes it", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path });
  const kept = await new ChatStage(store).create("shared", "hello");
  const reader = await opened({ path, readOnly: true });
  expect(await reader.chat(kept.chat.chat_id)).toEqual(kept);
  expect(await found(reader, "hel")).toEqual(["shared"]);
  await expect(reader.setDeleted(kept.chat.chat_id, null)).rejects.toMatchObject({
    code: "store_unreachable",
  });
});
