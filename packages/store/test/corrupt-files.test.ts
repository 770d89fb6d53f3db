import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import { migrations } from "../src/sqlite/migrations.ts";
import { openTestStore, startStoreProcess, createTemporaryFolder } from "./test-store.ts";
import { taskCreatedEntry, warningEntries } from "./sample-events.ts";

const tasks = ["a", "b", "c", "d"];

describe("damaged files", () => {
  test.each<[content: string, damage: (path: string) => void]>([
    ["random bytes in its header", (path) => overwriteBytes(path, 0, 100)],
    ["text instead of a database", (path) => writeFileSync(path, "Dear diary,\n".repeat(100))],
    ["only half of its bytes", (path) => truncateSync(path, readFileSync(path).length / 2)],
    ["only a part of its first page", (path) => truncateSync(path, 1000)],
    ["an unreadable schema", (path) => overwriteBytes(path, 100, 3000)],
  ])("a file with %s is reported with a solution", async (_, damage) => {
    const path = await createStoreWithTasks();
    damage(path);
    const before = readFileSync(path);
    const error = await openStore({ path }).catch((error: unknown) => error);
    expect(error).toMatchObject({
      name: "StoreError",
      code: "store_corrupt",
      message: expect.stringMatching(
        /^\S+tasks\.db is damaged \(.+\); stop .+ start with an empty/,
      ),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a damaged lock file is reset, because it contains no data", async () => {
    const path = await createStoreWithTasks();
    writeFileSync(`${path}-lock`, "Dear diary,\n".repeat(100));
    const warnings: string[] = [];
    const store = await openTestStore({ path, onWarning: (message) => warnings.push(message) });
    expect(await store.listUnfinished()).toEqual(tasks);
    expect(warnings).toEqual([`${path}-lock was damaged and has been reset`]);
    expect(readFileSync(`${path}-lock`)).toHaveLength(0);
    await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
  });

  test("a lock file that another process has locked is not reset", async () => {
    const path = await createStoreWithTasks();
    const holder = startStoreProcess([path, "hold"]);
    await holder.waitForLines(1);
    writeFileSync(`${path}-lock`, "Dear diary,\n".repeat(100));
    const second = startStoreProcess([path, "open"]);
    await second.exited;
    expect(JSON.parse(second.lines[0] ?? "")).toMatchObject({ code: "store_locked" });
    holder.process.stdin?.end();
    await holder.exited;
    await openTestStore({ path });
  });

  test("the error of an unusable lock file names that file, not the database", async () => {
    const path = await createStoreWithTasks();
    rmSync(`${path}-lock`);
    mkdirSync(`${path}-lock`);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_unreachable",
      message: expect.stringMatching(
        /tasks\.db-lock cannot be used as lock file .+ delete this file and start again/,
      ),
    });
  });

  test("if one page is damaged, the other tasks can be read and continued", async () => {
    const path = await createStoreWithTasks();
    const database = new DatabaseSync(path);
    const leaves = database
      .prepare(
        "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' ORDER BY path",
      )
      .all();
    database.close();
    const page = Number(leaves[leaves.length >> 3]?.["pageno"]);
    overwriteBytes(path, (page - 1) * 4096, 4096);

    const store = await openTestStore({ path });
    const read = await Promise.allSettled(tasks.map((task) => store.read(task, -1, 1000)));
    expect(read.map((result) => result.status)).toEqual([
      "rejected",
      ...Array(3).fill("fulfilled"),
    ]);
    expect(read[0]).toMatchObject({ reason: { code: "store_corrupt" } });
    await store.append("d", warningEntries("d", 101, 1), { durable: true });
    expect(await store.head("d")).toMatchObject({ head: 101 });
    await store.append("new", [taskCreatedEntry("new")], { durable: true });
    expect(await store.listUnfinished()).toEqual([...tasks, "new"]);
  });
});

describe("an unsupported file is not changed:", () => {
  test("a file of a newer version", async () => {
    const path = await createStoreWithTasks();
    runSql(path, "PRAGMA user_version = 99");
    const before = readFileSync(path);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_newer",
      message:
        `${path} was written by a later version of Deltawire (format 99, this one reads up to ${migrations.length}); ` +
        "update Deltawire, or choose another path",
    });
    await expect(openStore({ path, readOnly: true })).rejects.toMatchObject({
      code: "store_newer",
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a file of another program", async () => {
    const path = join(createTemporaryFolder(), "theirs.db");
    runSql(path, "CREATE TABLE songs (title TEXT)");
    const before = readFileSync(path);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_unreachable",
      message: `${path} is a database of another program; choose another path`,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("a path that cannot be opened is reported:", () => {
  test("a folder", async () => {
    const folder = createTemporaryFolder();
    await expect(openStore({ path: folder })).rejects.toMatchObject({
      code: "store_unreachable",
      message: `${folder} is not a file; choose another path, for example a file in it`,
    });
  });

  test("a folder below a file", async () => {
    const folder = createTemporaryFolder();
    writeFileSync(join(folder, "file"), "");
    await expect(openStore({ folder: join(folder, "file") })).rejects.toMatchObject({
      code: "store_unreachable",
    });
  });

  test("a missing file", async () => {
    const folder = createTemporaryFolder();
    await expect(openStore({ folder, readOnly: true })).rejects.toMatchObject({
      code: "store_unreachable",
    });
  });
});

test("a blob with a truncated or missing file can be stored again, and a missing file is reported", async () => {
  const warnings: string[] = [];
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path, onWarning: (message) => warnings.push(message) });
  const bytes = new Uint8Array(100_000).fill(7);
  const hash = await store.put(bytes, "image/png");
  truncateSync(join(`${path}-blobs`, hash), 10);
  await store.put(bytes, "image/png");
  expect((await store.get(hash))?.bytes.length).toBe(100_000);
  rmSync(`${path}-blobs`, { recursive: true });
  expect(await store.get(hash)).toBeUndefined();
  expect(warnings).toEqual([`${path}: the file of blob ${hash} is missing`]);
  await store.put(bytes, "image/png");
  expect((await store.get(hash))?.bytes.length).toBe(100_000);
});

async function createStoreWithTasks(): Promise<string> {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openStore({ path });
  for (const task of tasks)
    await store.append(
      task,
      [taskCreatedEntry(task), ...warningEntries(task, 1, 100, "x".repeat(200))],
      {
        durable: false,
      },
    );
  await store.close();
  return path;
}

function overwriteBytes(path: string, from: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xf7, from, from + length);
  writeFileSync(path, bytes);
}

function runSql(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}
