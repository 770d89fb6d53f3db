import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import type { JsonValue } from "@deltawire/tasks";
import { summaryOf, type Chat } from "@deltawire/tasks/chats";
import { describe, expect, onTestFinished, test } from "vitest";
import { appendBatch } from "../src/append.ts";
import { batchOf } from "../src/batch.ts";
import { createChats } from "../src/chats/save-chat.ts";
import { answer, ChatStage, found } from "../contract/chat-scenario.ts";
import { openForWriting } from "../src/database.ts";
import { migrations } from "../src/sql/migrations.ts";
import { opened, startChild, temporaryFolder } from "./opened.ts";
import { created, warnings } from "./sample-events.ts";

describe("only the owner may read", () => {
  test("what the store makes: its folder, the database and all that lies beside it", async () => {
    const folder = join(temporaryFolder(), "new", "data");
    const store = await opened({ folder });
    await store.append("t", [created("t")], { durable: true });
    const hash = await store.put(new Uint8Array(100_000), "image/png");
    expect(modes(folder)).toEqual({
      ".": "700",
      "deltawire.db": "600",
      "deltawire.db-blobs": "700",
      [`deltawire.db-blobs/${hash}`]: "600",
      "deltawire.db-lock": "600",
      "deltawire.db-shm": "600",
      "deltawire.db-wal": "600",
    });
  });

  test("a database that was open to others; the folder that somebody made stays as it is", async () => {
    const folder = temporaryFolder();
    const first = await openStore({ folder });
    await first.append("t", [created("t")], { durable: true });
    await first.close();
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "deltawire.db"), 0o644);
    const raw = new DatabaseSync(join(folder, "deltawire.db")); // makes -wal and -shm as open as the database
    raw.exec("CREATE TABLE more (a)");
    expect(modes(folder)).toMatchObject({ "deltawire.db-wal": "644", "deltawire.db-shm": "644" });
    await opened({ folder });
    expect(modes(folder)).toMatchObject({
      ".": "755",
      "deltawire.db": "600",
      "deltawire.db-wal": "600",
      "deltawire.db-shm": "600",
    });
    raw.close();
  });
});

test("what was replaced is not in the file either, once the store is closed", async () => {
  const folder = temporaryFolder();
  const store = await openStore({ folder });
  const secrets = warnings("t", 1, 40, "a secret of some length. ".repeat(400));
  await store.append("t", [created("t"), ...secrets], { durable: true });
  await store.saveSnapshot("t", 40, "a secret");
  const replaced = warnings("t", 1, 40, "nothing");
  await store.append("t", warnings("t", 41, 1), { durable: true, replaced });
  await store.close();
  const files = readdirSync(folder).filter((name) => name !== "deltawire.db-lock");
  expect(files).toEqual(["deltawire.db"]);
  expect(readFileSync(join(folder, "deltawire.db")).includes("a secret")).toBe(false);
});

test("a removed chat is not in the file either, once the store was pruned and closed", async () => {
  const folder = temporaryFolder();
  const store = await openStore({ folder });
  const stage = new ChatStage(store);
  const secrets = Array.from({ length: 40 }, (_, at) => `a zanzibar${at} `.repeat(100));
  const { chat } = await stage.create("zanzibarian", ...secrets);
  await stage.create("other", "nothing of it");
  const placeholder = { placeholder: "{{NAME_1_x7f3}}", value: "zanzibarite", kind: "name" };
  await store.addPlaceholders(chat.chat_id, [placeholder]);
  expect(await found(store, "zanzi")).toEqual(["zanzibarian"]);
  await store.removeChat(chat.chat_id);
  await store.prune(Date.now());
  await store.close();
  expect(readFileSync(join(folder, "deltawire.db")).includes("zanzi")).toBe(false);
});

test("two names of one file have one lock", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "link"));
  await opened({ folder: join(folder, "real") });
  symlinkSync(join(folder, "real", "deltawire.db"), join(folder, "other.db"));
  for (const path of [join(folder, "link", "deltawire.db"), join(folder, "other.db")])
    await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
});

describe("in a folder that cannot be written to", () => {
  test("a store is served for reading, with a warning", async ({ skip }) => {
    const folder = temporaryFolder();
    const path = join(folder, "tasks.db");
    const store = await openStore({ path });
    await store.append("t", [created("t"), ...warnings("t", 1, 4)], { durable: true });
    await store.close();
    const child = startChild([path, "read"], forbidWriting(folder, skip));
    await child.ended;
    const [told] = child.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told).toEqual({
      readOnly: true,
      rows: 5,
      told: [expect.stringMatching(/^only to be read: .+tasks\.db cannot be .+ permission denied/)],
      write: {
        code: "store_unreachable",
        message: expect.stringMatching(/tasks\.db is open for reading only: .+choose another path/),
      },
    });
  });

  test("a new store is refused", async ({ skip }) => {
    const folder = temporaryFolder();
    const path = join(folder, "tasks.db");
    const child = startChild([path, "open"], forbidWriting(folder, skip));
    await child.ended;
    expect(JSON.parse(child.lines[0] ?? "")).toMatchObject({
      code: "store_unreachable",
      message: expect.stringContaining("check that it is a file in a folder that this user may"),
    });
  });
});

describe("a file of an earlier version", () => {
  const later = [...migrations, "ALTER TABLE tasks ADD COLUMN title TEXT"];
  const options = { timeoutMs: 100, now: Date.now, migrations: later };
  const version = migrations.length;

  test("is brought up to date, with a backup of how it was", async () => {
    const path = await filled();
    const backup = `${path}-v${version}.bak`;
    openForWriting(path, options).close();
    expect(marks(path)).toEqual({ version: version + 1, titled: true });
    expect(marks(backup)).toEqual({ version, titled: false });
    expect((statSync(backup).mode & 0o777).toString(8)).toBe("600");
    const store = await opened({ path: backup });
    expect(await store.read("t", -1, 100)).toHaveLength(51);
  });

  test("is not backed up when there is nothing to do", async () => {
    const path = await filled();
    await opened({ path });
    expect(existsSync(`${path}-v${version}.bak`)).toBe(false);
  });

  test("stays as it was when one of the steps fails", async () => {
    const path = await filled();
    const broken = [...later, "DROP TABLE blobs; ALTER TABLE nothing ADD COLUMN x"];
    expect(() => openForWriting(path, { ...options, migrations: broken })).toThrow("nothing");
    expect(marks(path)).toEqual({ version, titled: false });
    const store = await opened({ path });
    await store.append("t", warnings("t", 51, 1), { durable: true });
    await store.put(new Uint8Array(3), "image/png");
  });

  test("without chats keeps its tasks and gets chats", async () => {
    const path = join(temporaryFolder(), "tasks.db");
    const old = openForWriting(path, { ...options, migrations: migrations.slice(0, 1) });
    old.transaction(() => {
      const entries = [created("t"), ...warnings("t", 1, 50)] as const;
      appendBatch(old, batchOf("t", entries), Date.now());
    });
    old.close();
    const store = await opened({ path });
    expect(marks(`${path}-v1.bak`)).toMatchObject({ version: 1 });
    expect(await store.read("t", -1, 100)).toHaveLength(51);
    expect(await store.unfinished()).toEqual(["t"]);
    const stage = new ChatStage(store);
    const kept = await stage.create("a chat", "hello");
    expect(await found(store, "hello")).toEqual(["a chat"]);
    expect(kept.stamp).toBe(1);
  });

  test("without the first words of its chats gets them, of the path that is chosen", async () => {
    const stage = new ChatStage(await opened({ folder: temporaryFolder() }));
    const { chat: edited, node: node_id } = stage.edit(stage.chat(""), {
      type: "add_message",
      parent: null,
      message: { text: "Hello" },
    });
    const attachments = [{ kind: "file", url: "https://a.example/b", filename: "b.txt" }] as const;
    const message = { text: "Hello 'again'", attachments };
    const another = { type: "add_message", parent: null, message: { text: "Another" } } as const;
    const question = { ...another, message: { text: "What do the tools say?" } };
    const called = stage.edit(stage.chat(""), question);
    const block_list = [{ type: "data" as const, data: nested(1100) }];
    const output = [
      { type: "message" as const, id: "item", role: "assistant" as const, block_list },
    ];
    const chats = [
      stage.chat("", "  What  is\n\n\tthe   weather? ", "Sunny.", "And tomorrow?"),
      stage.chat(""),
      stage.chat("Long", "y ".repeat(5000)),
      stage.edit(edited, { type: "add_message_version", node_id, message }).chat,
      stage.edit(stage.chat("", "One way"), another).chat,
      stage.chat("", " \n", "Say something.", "Something"),
      stage.edit(called.chat, {
        type: "add_answer",
        parent: called.node,
        answer: answer("", { output }),
      }).chat,
    ];

    const store = await opened({ path: olderFile(chats) });
    const listed = await store.listChats({ limit: 10 });
    const summaries = chats.map((chat, at) => summaryOf({ chat, stamp: at + 1 }));
    expect(listed).toEqual(expect.arrayContaining(summaries));
    expect(summaries.map(({ first_words }) => first_words)).toEqual([
      "What is the weather?",
      "",
      "y ".repeat(100).trim(),
      "Hello 'again' b.txt",
      "Another",
      "Something",
      "What do the tools say?",
    ]);
  });

  test("is brought up to date also where SQLite cannot read what was kept, and loses nothing of it", async () => {
    const stage = new ChatStage(await opened({ folder: temporaryFolder() }));
    const said = stage.chat("", "Hello");
    const deep = { ...said, settings: { options: { extra: { deep: nested(1100) } } } };
    const store = await opened({ path: olderFile([deep]) });
    const [listed] = await store.listChats({ limit: 10 });
    expect(listed).toMatchObject({ chat_id: deep.chat_id, first_words: "", excerpt: "Hello" });
    expect((await store.chat(deep.chat_id))?.chat).toEqual(deep);
  });
});

async function filled(): Promise<string> {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await openStore({ path });
  await store.append("t", [created("t"), ...warnings("t", 1, 50)], { durable: true });
  await store.close();
  return path;
}

/** Of the version that had chats without their first words. */
function olderFile(chats: readonly Chat[]): string {
  const path = join(temporaryFolder(), "chats.db");
  const options = { timeoutMs: 100, now: Date.now, migrations: migrations.slice(0, 2) };
  const old = openForWriting(path, options);
  old.transaction(() => {
    for (const chat of chats) createChats(old, [{ chat }]);
    old.execute("UPDATE chats SET summary = json_remove(summary, '$.first_words')");
  });
  old.close();
  return path;
}

function nested(levels: number): JsonValue {
  let value: JsonValue = "deep";
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function marks(path: string) {
  const raw = new DatabaseSync(path, { readOnly: true });
  const version = raw.prepare("PRAGMA user_version").get()?.["user_version"];
  const columns = raw.prepare("PRAGMA table_info(tasks)").all();
  raw.close();
  return { version, titled: columns.some((column) => column["name"] === "title") };
}

const nobody = 65534;

/**
 * Makes a folder read-only for the child process, which runs as another user if this one is root, who may write
 * everywhere. Skips the test where that is impossible.
 */
function forbidWriting(folder: string, skip: (reason: string) => never): { uid?: number } {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const closed = parentFolders(folder).find((parent) => (statSync(parent).mode & 0o001) === 0);
    if (closed !== undefined) skip(`another user cannot enter ${closed}`);
    try {
      for (const name of ["", ...readdirSync(folder)])
        chownSync(join(folder, name), nobody, nobody);
    } catch (error) {
      skip(`root may not give files away here: ${String(error)}`);
    }
  }
  chmodSync(folder, 0o500);
  onTestFinished(() => chmodSync(folder, 0o700));
  return isRoot ? { uid: nobody } : {};
}

function parentFolders(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...parentFolders(parent)];
}

function modes(folder: string): Record<string, string> {
  const names = [".", ...readdirSync(folder, { recursive: true, encoding: "utf8" })];
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );
}
