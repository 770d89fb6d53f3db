import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import type { JsonValue } from "@deltawire/tasks";
import { summarizeChat, type Chat } from "@deltawire/tasks/chats";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAnswer, ChatBuilder, searchTitles } from "../contract/chat-builder.ts";
import { openForWriting } from "../src/sqlite/database.ts";
import { migrations } from "../src/sqlite/migrations.ts";
import { createFileOfVersion } from "./older-file.ts";
import { openTestStore, startStoreProcess, createTemporaryFolder } from "./test-store.ts";
import { taskCreatedEntry, warningEntries } from "./sample-events.ts";

describe("only the owner has access to", () => {
  test("the files of a new store: its folder, the database and everything next to it", async () => {
    const folder = join(createTemporaryFolder(), "new", "data");
    const store = await openTestStore({ folder });
    await store.append("t", [taskCreatedEntry("t")], { durable: true });
    const hash = await store.put(new Uint8Array(100_000), "image/png");
    expect(listFileModes(folder)).toEqual({
      ".": "700",
      "deltawire.db": "600",
      "deltawire.db-blobs": "700",
      [`deltawire.db-blobs/${hash}`]: "600",
      "deltawire.db-lock": "600",
      "deltawire.db-shm": "600",
      "deltawire.db-wal": "600",
    });
  });

  test("an existing database, while the mode of its folder is not changed", async () => {
    const folder = createTemporaryFolder();
    const first = await openStore({ folder });
    await first.append("t", [taskCreatedEntry("t")], { durable: true });
    await first.close();
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "deltawire.db"), 0o644);
    const connection = new DatabaseSync(join(folder, "deltawire.db")); // creates -wal and -shm with the mode of the database
    connection.exec("CREATE TABLE more (a)");
    expect(listFileModes(folder)).toMatchObject({
      "deltawire.db-wal": "644",
      "deltawire.db-shm": "644",
    });
    await openTestStore({ folder });
    expect(listFileModes(folder)).toMatchObject({
      ".": "755",
      "deltawire.db": "600",
      "deltawire.db-wal": "600",
      "deltawire.db-shm": "600",
    });
    connection.close();
  });
});

test("replaced events are not in the file after closing the store", async () => {
  const folder = createTemporaryFolder();
  const store = await openStore({ folder });
  const secrets = warningEntries("t", 1, 40, "a secret of some length. ".repeat(400));
  await store.append("t", [taskCreatedEntry("t"), ...secrets], { durable: true });
  await store.saveSnapshot("t", 40, "a secret");
  const replacements = warningEntries("t", 1, 40, "nothing");
  await store.append("t", warningEntries("t", 41, 1), { durable: true, replacements });
  await store.close();
  const files = readdirSync(folder).filter((name) => name !== "deltawire.db-lock");
  expect(files).toEqual(["deltawire.db"]);
  expect(readFileSync(join(folder, "deltawire.db")).includes("a secret")).toBe(false);
});

test("a removed chat is not in the file after pruning and closing the store", async () => {
  const folder = createTemporaryFolder();
  const store = await openStore({ folder });
  const builder = new ChatBuilder(store);
  const secrets = Array.from({ length: 40 }, (_, index) => `a zanzibar${index} `.repeat(100));
  const { chat } = await builder.create("zanzibarian", ...secrets);
  await builder.create("other", "nothing of it");
  const placeholder = { placeholder: "{{NAME_1_x7f3}}", value: "zanzibarite", kind: "name" };
  await store.addPlaceholders(chat.chat_id, [placeholder]);
  expect(await searchTitles(store, "zanzi")).toEqual(["zanzibarian"]);
  await store.removeChat(chat.chat_id);
  await store.prune(Date.now());
  await store.close();
  expect(readFileSync(join(folder, "deltawire.db")).includes("zanzi")).toBe(false);
});

test("a store that is open under one path cannot be opened under another path of the same file", async () => {
  const folder = createTemporaryFolder();
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "link"));
  await openTestStore({ folder: join(folder, "real") });
  symlinkSync(join(folder, "real", "deltawire.db"), join(folder, "other.db"));
  for (const path of [join(folder, "link", "deltawire.db"), join(folder, "other.db")])
    await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
});

describe("in a folder without write access", () => {
  test("a store is opened for reading, with a warning", async ({ skip }) => {
    const folder = createTemporaryFolder();
    const path = join(folder, "tasks.db");
    const store = await openStore({ path });
    await store.append("t", [taskCreatedEntry("t"), ...warningEntries("t", 1, 4)], {
      durable: true,
    });
    await store.close();
    const child = startStoreProcess([path, "read"], forbidWriting(folder, skip));
    await child.exited;
    const [output] = child.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(output).toEqual({
      readOnly: true,
      rows: 5,
      warnings: [
        expect.stringMatching(/^opened read-only: .+tasks\.db cannot be .+ permission denied/),
      ],
      write: {
        code: "store_unreachable",
        message: expect.stringMatching(/tasks\.db is read-only: .+choose another path/),
      },
    });
  });

  test("a new store is rejected", async ({ skip }) => {
    const folder = createTemporaryFolder();
    const path = join(folder, "tasks.db");
    const child = startStoreProcess([path, "open"], forbidWriting(folder, skip));
    await child.exited;
    expect(JSON.parse(child.lines[0] ?? "")).toMatchObject({
      code: "store_unreachable",
      message: expect.stringContaining("check that it is a file in a folder that this user can"),
    });
  });
});

describe("a file of an older version", () => {
  const laterMigrations = [...migrations, "ALTER TABLE tasks ADD COLUMN title TEXT"];
  const options = { timeoutMs: 100, now: Date.now, migrations: laterMigrations };
  const version = migrations.length;

  test("is migrated, with a backup", async () => {
    const path = await createFilledStore();
    const backup = `${path}-v${version}.bak`;
    openForWriting(path, options).close();
    expect(readSchemaState(path)).toEqual({ version: version + 1, titled: true });
    expect(readSchemaState(backup)).toEqual({ version, titled: false });
    expect((statSync(backup).mode & 0o777).toString(8)).toBe("600");
    const store = await openTestStore({ path: backup });
    expect(await store.read("t", -1, 100)).toHaveLength(51);
  });

  test("is not backed up without migrations", async () => {
    const path = await createFilledStore();
    await openTestStore({ path });
    expect(existsSync(`${path}-v${version}.bak`)).toBe(false);
  });

  test("is unchanged if a migration fails", async () => {
    const path = await createFilledStore();
    const brokenMigrations = [
      ...laterMigrations,
      "DROP TABLE blobs; ALTER TABLE nothing ADD COLUMN x",
    ];
    expect(() => openForWriting(path, { ...options, migrations: brokenMigrations })).toThrow(
      "nothing",
    );
    expect(readSchemaState(path)).toEqual({ version, titled: false });
    const store = await openTestStore({ path });
    await store.append("t", warningEntries("t", 51, 1), { durable: true });
    await store.put(new Uint8Array(3), "image/png");
  });

  test("without chat tables keeps its tasks and gets the tables", async () => {
    const entries = [taskCreatedEntry("t"), ...warningEntries("t", 1, 50)];
    const path = await createFileOfVersion(1, (old) => old.append("t", entries, { durable: true }));
    const store = await openTestStore({ path });
    expect(readSchemaState(`${path}-v1.bak`)).toMatchObject({ version: 1 });
    expect(await store.read("t", -1, 100)).toHaveLength(51);
    expect(await store.listUnfinished()).toEqual(["t"]);
    const builder = new ChatBuilder(store);
    const stored = await builder.create("a chat", "hello");
    expect(await searchTitles(store, "hello")).toEqual(["a chat"]);
    expect(stored.stamp).toBe(1);
  });

  test("without the opening texts of chats gets them from their selected paths", async () => {
    const builder = new ChatBuilder(await openTestStore({ folder: createTemporaryFolder() }));
    const { chat: edited, node: node_id } = builder.edit(builder.build(""), {
      type: "add_message",
      parent: null,
      message: { text: "Hello" },
    });
    const attachments = [{ kind: "file", url: "https://a.example/b", filename: "b.txt" }] as const;
    const message = { text: "Hello 'again'", attachments };
    const secondRoot = { type: "add_message", parent: null, message: { text: "Another" } } as const;
    const question = { ...secondRoot, message: { text: "What do the tools say?" } };
    const toolQuestion = builder.edit(builder.build(""), question);
    const block_list = [{ type: "data" as const, data: createNestedValue(1100) }];
    const output = [
      { type: "message" as const, id: "item", role: "assistant" as const, block_list },
    ];
    const chats = [
      builder.build("", "  What  is\n\n\tthe   weather? ", "Sunny.", "And tomorrow?"),
      builder.build(""),
      builder.build("Long", "y ".repeat(5000)),
      builder.edit(edited, { type: "add_message_version", node_id, message }).chat,
      builder.edit(builder.build("", "One way"), secondRoot).chat,
      builder.build("", " \n", "Say something.", "Something"),
      builder.edit(toolQuestion.chat, {
        type: "add_answer",
        parent: toolQuestion.node,
        answer: createAnswer("", { output }),
      }).chat,
    ];

    const store = await openTestStore({ path: await createFileWithoutOpeningTexts(chats) });
    const listed = await store.listChats({ owner: "", limit: 10 });
    const summaries = chats.map((chat, index) => summarizeChat({ chat, stamp: index + 1 }));
    expect(listed).toEqual(expect.arrayContaining(summaries));
    expect(summaries.map(({ opening_text }) => opening_text)).toEqual([
      "What is the weather?",
      "",
      "y ".repeat(100).trim(),
      "Hello 'again' b.txt",
      "Another",
      "Something",
      "What do the tools say?",
    ]);
  });

  test("is migrated without loss even if SQLite cannot parse stored JSON", async () => {
    const builder = new ChatBuilder(await openTestStore({ folder: createTemporaryFolder() }));
    const newChat = builder.build("", "Hello");
    const deep = {
      ...newChat,
      settings: { options: { extra: { deep: createNestedValue(1100) } } },
    };
    const store = await openTestStore({ path: await createFileWithoutOpeningTexts([deep]) });
    const [listed] = await store.listChats({ owner: "", limit: 10 });
    expect(listed).toMatchObject({ chat_id: deep.chat_id, opening_text: "", excerpt: "Hello" });
    expect((await store.getChat(deep.chat_id))?.chat).toEqual(deep);
  });
});

async function createFilledStore(): Promise<string> {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openStore({ path });
  await store.append("t", [taskCreatedEntry("t"), ...warningEntries("t", 1, 50)], {
    durable: true,
  });
  await store.close();
  return path;
}

/** Creates a database of the version whose summaries had no opening text. The next version stored it as `first_words`. */
function createFileWithoutOpeningTexts(chats: readonly Chat[]): Promise<string> {
  return createFileOfVersion(
    2,
    async (store) => {
      for (const chat of chats) await store.createChats([{ chat }]);
    },
    "UPDATE chats SET summary = json_remove(summary, '$.opening_text')",
  );
}

function createNestedValue(levels: number): JsonValue {
  let value: JsonValue = "deep";
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function readSchemaState(path: string) {
  const connection = new DatabaseSync(path, { readOnly: true });
  const version = connection.prepare("PRAGMA user_version").get()?.["user_version"];
  const columns = connection.prepare("PRAGMA table_info(tasks)").all();
  connection.close();
  return { version, titled: columns.some((column) => column["name"] === "title") };
}

const nobody = 65534;

/**
 * Makes a folder read-only for the child process, which runs as another user if this one is root. Skips the test where
 * that is impossible.
 */
function forbidWriting(folder: string, skip: (reason: string) => never): { uid?: number } {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const inaccessibleParent = parentFolders(folder).find(
      (parent) => (statSync(parent).mode & 0o001) === 0,
    );
    if (inaccessibleParent !== undefined) skip(`another user cannot enter ${inaccessibleParent}`);
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

function listFileModes(folder: string): Record<string, string> {
  const names = [".", ...readdirSync(folder, { recursive: true, encoding: "utf8" })];
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );
}
