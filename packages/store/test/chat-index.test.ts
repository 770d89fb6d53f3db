import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applyEdit, importChats } from "@deltawire/tasks/chats";
import type { Chat, EditWorld, KeptChat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { longestTurn } from "../../../test/work-time.ts";
import { openStore, type Store } from "../src/index.ts";
import { opened, temporaryFolder } from "./opened.ts";

/* The index of words, when a change of a chat brings more of them than one transaction should write. */

const maxTurnMs = 200;
let last = 0;
const world: EditWorld = {
  newId: (prefix) => `${prefix}_${(last += 1)}`,
  now: () => new Date(1_770_000_000_000).toISOString(),
};

/** Each message has a word of its own, at its end. */
function longChat(messages: number, characters: number): Chat {
  const words = "Some words of a long message that many people have written before. ";
  const text = words.repeat(Math.ceil(characters / words.length));
  const list = Array.from({ length: messages }, (_, nth) => ({
    role: "user",
    content: `${text} unique${nth}`,
  }));
  const read = importChats(list, { ...world, blobHash: () => "" });
  const [first] = read.ok ? read.chats : [];
  if (first === undefined) throw new Error("not imported");
  return first.chat;
}

async function hits(store: Store, query: string): Promise<number> {
  const found = await store.searchChats(query, { limit: 10 });
  return found.reduce((sum, chat) => sum + chat.hits.length, 0);
}

async function stored(store: Store, chatId: string): Promise<KeptChat> {
  const kept = await store.chat(chatId);
  if (kept === undefined) throw new Error("not stored");
  return kept;
}

test("a long chat is created, cut and restored without a long turn, and found each time", async () => {
  const store = await opened({ path: join(temporaryFolder(), "a.db") });
  const chat = longChat(1600, 10_000);
  expect(await store.chatBytes(chat.chat_id)).toBe(0);
  expect(await longestTurn(() => store.createChats([{ chat }]))).toBeLessThan(maxTurnMs);
  expect([await hits(store, "unique0"), await hits(store, "unique1599")]).toEqual([1, 1]);
  expect(await store.chatBytes(chat.chat_id)).toBeGreaterThan(16_000_000);

  const whole = await stored(store, chat.chat_id);
  const second = whole.chat.nodes[chat.roots[0] ?? ""]?.children[0] ?? "";
  const cut = applyEdit(
    whole.chat,
    { type: "delete_node", node_id: second, children: "delete" },
    world,
  );
  if (!cut.ok || cut.removal === undefined) throw new Error("not deleted");
  const { chat: rest, removal } = cut;
  const deleting = longestTurn(() => store.saveChat(whole, rest, { removals: [removal] }));
  expect(await deleting).toBeLessThan(maxTurnMs);
  expect([await hits(store, "unique0"), await hits(store, "unique1599")]).toEqual([1, 0]);

  const before = await stored(store, chat.chat_id);
  const undone = applyEdit(before.chat, { type: "restore", removal }, world);
  if (!undone.ok) throw new Error("not restored");
  const restoring = longestTurn(() =>
    store.saveChat(before, undone.chat, { restored: removal.removal_id }),
  );
  expect(await restoring).toBeLessThan(maxTurnMs);
  expect(await store.removals(chat.chat_id)).toEqual([]);
  expect([await hits(store, "unique0"), await hits(store, "unique1599")]).toEqual([1, 1]);
}, 30_000);

test("a large deletion whose undo was cut off by the end of the process is undone once", async () => {
  const path = join(temporaryFolder(), "a.db");
  const first = await openStore({ path });
  const chat = longChat(150, 10_000);
  await first.createChats([{ chat }]);
  const whole = await stored(first, chat.chat_id);
  const second = whole.chat.nodes[chat.roots[0] ?? ""]?.children[0] ?? "";
  const cut = applyEdit(
    whole.chat,
    { type: "delete_node", node_id: second, children: "delete" },
    world,
  );
  if (!cut.ok || cut.removal === undefined) throw new Error("not deleted");
  await first.saveChat(whole, cut.chat, { removals: [cut.removal] });
  await first.close();
  const { removal_id } = cut.removal;
  const count = (database: DatabaseSync) =>
    database.prepare("SELECT count(*) AS n FROM chat_removals").get()?.["n"];
  // As the transaction of the undo leaves the file.
  const database = new DatabaseSync(path);
  const number = database.prepare("SELECT number FROM chats").get()?.["number"] ?? 0;
  database
    .prepare("INSERT INTO meta (name, value) VALUES (?, ?)")
    .run(`undone:${removal_id}`, number);
  expect(count(database)).toBe(1);
  database.close();
  const store = await openStore({ path });
  expect(await store.removal(chat.chat_id, removal_id)).toBeUndefined();
  expect(await store.removals(chat.chat_id)).toEqual([]);
  await store.prune(Date.now());
  await store.close();
  const pruned = new DatabaseSync(path);
  expect(count(pruned)).toBe(0);
  const marks = pruned.prepare("SELECT count(*) AS n FROM meta WHERE name LIKE 'undone%'").get();
  expect(marks).toEqual({ n: 0 });
  pruned.close();
});

test("a chat that is removed while its words are indexed leaves nothing in the index", async () => {
  const path = join(temporaryFolder(), "a.db");
  const store = await openStore({ path });
  const chat = longChat(100, 10_000);
  const creating = store.createChats([{ chat }]);
  while ((await store.chat(chat.chat_id)) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([store.removeChat(chat.chat_id), creating]);
  expect(await hits(store, "unique99")).toBe(0);
  await store.close();
  const database = new DatabaseSync(path);
  expect(database.prepare("SELECT count(*) AS n FROM chat_words").get()).toEqual({ n: 0 });
  expect(database.prepare("SELECT count(*) AS n FROM meta WHERE name = 'index'").get()).toEqual({
    n: 0,
  });
  database.close();
});

test("a message that is deleted while its words wait for the index is not found", async () => {
  const store = await opened({ path: join(temporaryFolder(), "a.db") });
  const chat = longChat(100, 10_000);
  const creating = store.createChats([{ chat }]);
  let kept = await store.chat(chat.chat_id);
  while (kept === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    kept = await store.chat(chat.chat_id);
  }
  const end = Object.keys(kept.chat.nodes).at(-1) ?? "";
  const message = { text: "shorter" };
  const added = applyEdit(kept.chat, { type: "add_message_version", node_id: end, message }, world);
  const [old = ""] =
    added.ok && added.chat.nodes[end]?.kind === "user"
      ? added.chat.nodes[end].versions.map(({ version_id }) => version_id)
      : [];
  const cut = added.ok
    ? applyEdit(added.chat, { type: "delete_version", node_id: end, version_id: old }, world)
    : added;
  if (!cut.ok) throw new Error(cut.reason);
  expect(await store.saveChat(kept, cut.chat)).not.toBe("conflict");
  await creating;
  expect([await hits(store, "unique98"), await hits(store, "unique99")]).toEqual([1, 0]);
  expect(await hits(store, "shorter")).toBe(1);
});

test("an index that a process left unfinished is rebuilt at the next pruning", async () => {
  const path = join(temporaryFolder(), "a.db");
  const first = await openStore({ path });
  const chat = longChat(50, 100);
  await first.createChats([{ chat: { ...chat, title: "A chat about lighthouses" } }]);
  await first.close();
  const database = new DatabaseSync(path);
  database.exec(`
    DELETE FROM chat_words WHERE number > (SELECT min(number) + 10 FROM chat_words);
    INSERT INTO meta (name, value) VALUES ('index', '1');
  `);
  database.close();
  const store = await opened({ path });
  expect(await hits(store, "unique49")).toBe(0);
  await store.prune(Date.now());
  expect([await hits(store, "unique0"), await hits(store, "unique49")]).toEqual([1, 1]);
  expect(await store.searchChats("lighthouses", { limit: 1 })).toHaveLength(1);
  // Nothing is there twice: what is deleted is found no more.
  await store.removeChat(chat.chat_id);
  expect(await hits(store, "unique49")).toBe(0);
});
