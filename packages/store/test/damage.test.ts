import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import { migrations } from "../src/sql/migrations.ts";
import { opened, startChild, temporaryFolder } from "./opened.ts";
import { created, warnings } from "./sample-events.ts";

const tasks = ["a", "b", "c", "d"];

describe("a damaged file is said to be one, with what to do:", () => {
  test.each<[how: string, damage: (path: string) => void]>([
    ["garbage instead of a header", (path) => overwrite(path, 0, 100)],
    ["a file of something else", (path) => writeFileSync(path, "Dear diary,\n".repeat(100))],
    ["a file cut in half", (path) => truncateSync(path, readFileSync(path).length / 2)],
    ["a file cut in its first page", (path) => truncateSync(path, 1000)],
    ["a broken schema", (path) => overwrite(path, 100, 3000)],
  ])("%s", async (_how, damage) => {
    const path = await storeWithTasks();
    damage(path);
    const before = readFileSync(path);
    const error = await openStore({ path }).catch((error: unknown) => error);
    expect(error).toMatchObject({
      name: "StoreError",
      code: "store_corrupt",
      message: expect.stringMatching(
        /^\S+tasks\.db is damaged \(.+\): stop .+ start with an empty/,
      ),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("but a damaged lock file is emptied, for nothing is ever in it", async () => {
    const path = await storeWithTasks();
    writeFileSync(`${path}-lock`, "Dear diary,\n".repeat(100));
    const told: string[] = [];
    const store = await opened({ path, onWarning: (message) => told.push(message) });
    expect(await store.unfinished()).toEqual(tasks);
    expect(told).toEqual([`${path}-lock was damaged and has been emptied`]);
    expect(readFileSync(`${path}-lock`)).toHaveLength(0);
    await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
  });

  test("nor is one that another process holds: it stays locked", async () => {
    const path = await storeWithTasks();
    const holder = startChild([path, "hold"]);
    await holder.printed(1);
    writeFileSync(`${path}-lock`, "Dear diary,\n".repeat(100));
    const second = startChild([path, "open"]);
    await second.ended;
    expect(JSON.parse(second.lines[0] ?? "")).toMatchObject({ code: "store_locked" });
    holder.process.stdin?.end();
    await holder.ended;
    await opened({ path });
  });

  test("nor is a lock that cannot be used: the message names it and not the database", async () => {
    const path = await storeWithTasks();
    rmSync(`${path}-lock`);
    mkdirSync(`${path}-lock`);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_unreachable",
      message: expect.stringMatching(/tasks\.db-lock cannot be used .+ remove this file and start/),
    });
  });

  test("one page: what lies elsewhere can be read, and other tasks go on", async () => {
    const path = await storeWithTasks();
    const raw = new DatabaseSync(path);
    const leaves = raw
      .prepare(
        "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' ORDER BY path",
      )
      .all();
    raw.close();
    const page = Number(leaves[leaves.length >> 3]?.["pageno"]);
    overwrite(path, (page - 1) * 4096, 4096);

    const store = await opened({ path });
    const read = await Promise.allSettled(tasks.map((task) => store.read(task, -1, 1000)));
    expect(read.map((result) => result.status)).toEqual([
      "rejected",
      ...Array(3).fill("fulfilled"),
    ]);
    expect(read[0]).toMatchObject({ reason: { code: "store_corrupt" } });
    await store.append("d", warnings("d", 101, 1), { durable: true });
    expect(await store.head("d")).toMatchObject({ head: 101 });
    await store.append("new", [created("new")], { durable: true });
    expect(await store.unfinished()).toEqual([...tasks, "new"]);
  });
});

describe("a file that is not for this version stays as it is:", () => {
  test("one of a later version", async () => {
    const path = await storeWithTasks();
    change(path, "PRAGMA user_version = 99");
    const before = readFileSync(path);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_newer",
      message:
        `${path} was written by a later version of Deltawire (format 99, this one reads up to ${migrations.length}): ` +
        "update Deltawire, or choose another path",
    });
    await expect(openStore({ path, readOnly: true })).rejects.toMatchObject({
      code: "store_newer",
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("one of another program", async () => {
    const path = join(temporaryFolder(), "theirs.db");
    change(path, "CREATE TABLE songs (title TEXT)");
    const before = readFileSync(path);
    await expect(openStore({ path })).rejects.toMatchObject({
      code: "store_unreachable",
      message: `${path} is a database of another program: choose another path`,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("a place that cannot be opened is said clearly:", () => {
  test("a folder", async () => {
    const folder = temporaryFolder();
    await expect(openStore({ path: folder })).rejects.toMatchObject({
      code: "store_unreachable",
      message: `${folder} is not a file: name a file in it, or choose another path`,
    });
  });

  test("a folder below a file", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    await expect(openStore({ folder: join(folder, "file") })).rejects.toMatchObject({
      code: "store_unreachable",
    });
  });

  test("nothing to read", async () => {
    const folder = temporaryFolder();
    await expect(openStore({ folder, readOnly: true })).rejects.toMatchObject({
      code: "store_unreachable",
    });
  });
});

test("a blob whose file is gone is missing, is told of, and can be put again", async () => {
  const told: string[] = [];
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path, onWarning: (message) => told.push(message) });
  const bytes = new Uint8Array(100_000).fill(7);
  const hash = await store.put(bytes, "image/png");
  truncateSync(join(`${path}-blobs`, hash), 10);
  await store.put(bytes, "image/png");
  expect((await store.get(hash))?.bytes.length).toBe(100_000);
  rmSync(`${path}-blobs`, { recursive: true });
  expect(await store.get(hash)).toBeUndefined();
  expect(told).toEqual([`${path}: the file of blob ${hash} is missing`]);
  await store.put(bytes, "image/png");
  expect((await store.get(hash))?.bytes.length).toBe(100_000);
});

async function storeWithTasks(): Promise<string> {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await openStore({ path });
  for (const task of tasks)
    await store.append(task, [created(task), ...warnings(task, 1, 100, "x".repeat(200))], {
      durable: false,
    });
  await store.close();
  return path;
}

function overwrite(path: string, from: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xf7, from, from + length);
  writeFileSync(path, bytes);
}

function change(path: string, sql: string): void {
  const raw = new DatabaseSync(path);
  raw.exec(sql);
  raw.close();
}
