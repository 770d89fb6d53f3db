import { readdirSync, statSync, writeFileSync } from "node:fs";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import { ChatStage } from "../contract/chat-scenario.ts";
import { openForWriting } from "../src/database.ts";
import { removeTask } from "../src/sql/retention.ts";
import { opened, temporaryFolder } from "./opened.ts";
import { completed, created, warnings } from "./sample-events.ts";

const day = 86_400_000;
const start = Date.parse("2026-03-01T00:00:00Z");

describe("by age", () => {
  test("tasks go so many days after their end; those that have not ended stay", async () => {
    const { store, clock } = await storeWithClock({ keepDays: 7 });
    await addTask(store, "early", 3);
    await store.append("running", [created("running")], { durable: false });
    clock.now += 2 * day;
    await addTask(store, "late", 3);
    expect(await store.prune(start + 7 * day)).toEqual({ tasks: 0, blobs: 0 });
    expect(await store.prune(start + 8 * day)).toEqual({ tasks: 1, blobs: 0 });
    expect(await idsOf(store)).toEqual(["late", "running"]);
    expect(await store.rootOf("early")).toBeUndefined();
    expect(await store.read("early", -1, 10)).toEqual([]);
    expect(await store.prune(start + 365 * day)).toEqual({ tasks: 1, blobs: 0 });
    expect(await idsOf(store)).toEqual(["running"]);
  });

  test("without a limit everything stays", async () => {
    const { store } = await storeWithClock({});
    await addTask(store, "early", 3);
    expect(await store.prune(start + 3650 * day)).toEqual({ tasks: 0, blobs: 0 });
    expect(await idsOf(store)).toEqual(["early"]);
  });

  test("the blobs go with the last task that refers to them", async () => {
    const { store, clock, path } = await storeWithClock({ keepDays: 7 });
    const [shared, own] = await Promise.all(
      [100_000, 70_000].map((size) => store.put(new Uint8Array(size), "image/png")),
    );
    await addTask(store, "early", 1, `/api/blobs/${own} and /api/blobs/${shared}`);
    clock.now += 3 * day;
    await addTask(store, "late", 1, `/api/blobs/${shared}`);
    expect(await store.prune(start + 8 * day)).toEqual({ tasks: 1, blobs: 1 });
    expect(readdirSync(`${path}-blobs`)).toEqual([shared]);
    expect(await store.get(own ?? "")).toBeUndefined();
    expect(await store.prune(start + 11 * day)).toEqual({ tasks: 1, blobs: 1 });
    expect(readdirSync(`${path}-blobs`)).toEqual([]);
  });

  test("a blob that is put again is young again", async () => {
    const { store, clock } = await storeWithClock({});
    const hash = await store.put(new Uint8Array(9), "image/png");
    clock.now += 5 * day;
    await store.put(new Uint8Array(9), "image/png");
    expect(await store.prune(clock.now)).toEqual({ tasks: 0, blobs: 0 });
    expect(await store.get(hash)).toBeDefined();
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("a blob that may stay unused for longer does, until something refers to it", async () => {
    const { store, clock } = await storeWithClock({ keepDays: 1 });
    const unusedMs = 30 * day;
    const [draft = "", sent = ""] = await Promise.all(
      [1, 2].map((byte) => store.put(new Uint8Array([byte]), "image/png", { unusedMs })),
    );
    await store.put(new Uint8Array([1]), "image/png"); // again, for a moment
    await addTask(store, "t", 1, `/api/blobs/${sent}`);
    clock.now += 29 * day;
    expect(await store.prune(clock.now)).toEqual({ tasks: 1, blobs: 0 });
    expect(await store.get(draft)).toBeDefined();
    expect(await store.prune(clock.now + day / 2)).toEqual({ tasks: 0, blobs: 1 });
    expect(await store.get(sent)).toBeUndefined();
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 0, blobs: 1 });
    expect(await store.get(draft)).toBeUndefined();
  });

  test("the attachments of a removed chat go with it, also right after they were sent", async () => {
    const { store, clock } = await storeWithClock({});
    const unusedMs = 30 * day;
    const hash = await store.put(new Uint8Array([1]), "image/png", { unusedMs });
    const { chat } = await new ChatStage(store).create("a chat", `/api/blobs/${hash}`);
    await store.removeChat(chat.chat_id);
    expect(await store.prune(clock.now + day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("files that a crash left among the blobs go", async () => {
    const { store, path } = await storeWithClock({});
    const kept = await store.put(new Uint8Array(100_000), "image/png");
    const left = join(`${path}-blobs`, `${"0".repeat(64)}.part`);
    writeFileSync(left, "half");
    utimesSync(left, new Date(start), new Date(start));
    await store.prune(start + 1);
    expect(readdirSync(`${path}-blobs`)).toHaveLength(2);
    await store.append("t", [created("t"), ...warnings("t", 1, 1, `/api/blobs/${kept}`)], {
      durable: false,
    });
    await store.prune(start + 2 * day);
    expect(readdirSync(`${path}-blobs`)).toEqual([kept]);
  });

  test("a key is free again after a day, and when its task is gone", async () => {
    const { store, clock } = await storeWithClock({ keepDays: 0.5 });
    await store.keyed("key", "h1", "t1");
    clock.now += day;
    expect(await store.keyed("key", "h2", "t2")).toEqual({ rootTaskId: "t1", bodyHash: "h1" });
    clock.now += 1;
    const second = { rootTaskId: "t2", bodyHash: "h2" };
    expect(await store.keyed("key", "h2", "t2")).toEqual(second);
    await addTask(store, "t2", 1);
    expect(await store.keyed("key", "h3", "t3")).toEqual(second);
    expect(await store.prune(clock.now + 0.6 * day)).toMatchObject({ tasks: 1 });
    expect(await store.keyed("key", "h3", "t3")).toEqual({ rootTaskId: "t3", bodyHash: "h3" });
  });

  test("grants go with the last task of their session", async () => {
    const { store, clock } = await storeWithClock({ keepDays: 7 });
    for (const session of ["chat", "alone", "gone"])
      await store.addGrant(session, { tool: "shell" });
    await store.append("t", [created("t", 0, { session_id: "chat" })], { durable: false });
    await store.append("alone", [created("alone")], { durable: false });
    await store.prune(clock.now + 6 * day);
    expect(await store.grants("gone")).toEqual([{ tool: "shell" }]);
    await store.prune(clock.now + 8 * day);
    expect(await store.grants("gone")).toEqual([]);
    expect(await store.grants("chat")).toEqual([{ tool: "shell" }]);
    expect(await store.grants("alone")).toEqual([{ tool: "shell" }]);
  });
});

describe("by size", () => {
  test("those that ended first go until the rest fits, and the file shrinks", async () => {
    const { store, clock, path } = await storeWithClock({ maxMb: 2 });
    for (const id of ["t0", "t1", "t2", "t3", "t4"]) {
      await store.append(id, [created(id)], { durable: false });
    }
    for (const id of ["t3", "t1", "t0", "t2"]) {
      clock.now += 1000;
      const end = [...warnings(id, 1, 50, "x".repeat(20_000)), completed(id, 51)];
      await store.append(id, end, { durable: false });
    }
    expect(await store.size()).toBeGreaterThan(4_000_000);
    expect(await store.prune(clock.now)).toEqual({ tasks: 3, blobs: 0 });
    expect(await idsOf(store)).toEqual(["t4", "t2"]);
    expect(await store.size()).toBeLessThan(2 * 1024 * 1024);
    await store.close();
    expect(statSync(path).size).toBeLessThan(2 * 1024 * 1024);
  });

  test("large blobs count, and go with their tasks", async () => {
    const { store, clock } = await storeWithClock({ maxMb: 2 });
    for (const at of [0, 1, 2]) {
      const hash = await store.put(new Uint8Array(1_200_000).fill(at), "image/png");
      await addTask(store, `t${at}`, 1, `/api/blobs/${hash}`);
      clock.now += 1000;
    }
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 2, blobs: 2 });
    expect(await idsOf(store)).toEqual(["t2"]);
  });

  test("for blobs that nobody has had the time to refer to, no task has to go", async () => {
    const { store, clock, told } = await storeWithClock({ maxMb: 1 });
    await addTask(store, "ended", 1);
    await store.put(new Uint8Array(5_000_000), "image/png");
    expect(await store.prune(clock.now)).toEqual({ tasks: 0, blobs: 0 });
    expect(told).toEqual([]);
    expect(await store.prune(clock.now + day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("what may not be removed is told of", async () => {
    const { store, told } = await storeWithClock({ maxMb: 1 });
    await store.append("t", [created("t"), ...warnings("t", 1, 100, "x".repeat(20_000))], {
      durable: false,
    });
    await addTask(store, "ended", 1);
    expect(await store.prune(start)).toEqual({ tasks: 1, blobs: 0 });
    expect(told).toEqual([
      expect.stringMatching(
        /^the store holds 3 MB, more than max_mb = 1, and all of it belongs to chats and to tasks/,
      ),
    ]);
  });
});

test("a long task is removed while others go on, and one process ends what another began", async () => {
  const { store, path } = await storeWithClock({});
  await addTask(store, "long", 10_000);
  await addTask(store, "other", 10);
  await store.close();
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  db.transaction(() => removeTask(db, 1));
  db.close();
  const again = await opened({ path });
  expect(await idsOf(again)).toEqual(["other"]);
  const pruning = again.prune(start);
  await again.append("new", [created("new")], { durable: true });
  await pruning;
  expect(await again.read("new", -1, 10)).toHaveLength(1);
  await again.close();
  const raw = new DatabaseSync(path, { readOnly: true });
  expect(raw.prepare("SELECT count(*) AS n FROM events").get()).toEqual({ n: 12 + 1 });
  expect(raw.prepare("SELECT count(*) AS n FROM removed_tasks").get()).toEqual({ n: 0 });
  raw.close();
});

async function storeWithClock(limits: { keepDays?: number; maxMb?: number }) {
  const path = join(temporaryFolder(), "tasks.db");
  const clock = { now: start };
  const told: string[] = [];
  const store = await opened({
    path,
    ...limits,
    now: () => clock.now,
    onWarning: (message) => told.push(message),
  });
  return { store, clock, path, told };
}

async function addTask(store: Store, id: string, events: number, message = "slow"): Promise<void> {
  const between = warnings(id, 1, events, message);
  await store.append(id, [created(id), ...between, completed(id, events + 1)], { durable: false });
}

async function idsOf(store: Store): Promise<string[]> {
  return (await store.listTasks({ limit: 100 })).map(({ task_id }) => task_id);
}
