import { readdirSync, statSync, writeFileSync } from "node:fs";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import { ChatBuilder } from "../contract/chat-builder.ts";
import { openForWriting } from "../src/sqlite/database.ts";
import { removeTask } from "../src/sqlite/prune-queries.ts";
import { openTestStore, createTemporaryFolder } from "./test-store.ts";
import { taskCompletedEntry, taskCreatedEntry, warningEntries } from "./sample-events.ts";

const day = 86_400_000;
const start = Date.parse("2026-03-01T00:00:00Z");

describe("pruning by age", () => {
  test("removes tasks after the configured number of days since their end, but no unfinished ones", async () => {
    const { store, clock } = await openStoreWithClock({ retentionDays: 7 });
    await addTask(store, "early", 3);
    await store.append("running", [taskCreatedEntry("running")], { durable: false });
    clock.now += 2 * day;
    await addTask(store, "late", 3);
    expect(await store.prune(start + 7 * day)).toEqual({ tasks: 0, blobs: 0 });
    expect(await store.prune(start + 8 * day)).toEqual({ tasks: 1, blobs: 0 });
    expect(await listIds(store)).toEqual(["late", "running"]);
    expect(await store.findRootTask("early")).toBeUndefined();
    expect(await store.read("early", -1, 10)).toEqual([]);
    expect(await store.prune(start + 365 * day)).toEqual({ tasks: 1, blobs: 0 });
    expect(await listIds(store)).toEqual(["running"]);
  });

  test("removes nothing without a limit", async () => {
    const { store } = await openStoreWithClock({});
    await addTask(store, "early", 3);
    expect(await store.prune(start + 3650 * day)).toEqual({ tasks: 0, blobs: 0 });
    expect(await listIds(store)).toEqual(["early"]);
  });

  test("removes blobs with the last task that refers to them", async () => {
    const { store, clock, path } = await openStoreWithClock({ retentionDays: 7 });
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

  test("keeps a blob whose grace period was renewed by storing it again", async () => {
    const { store, clock } = await openStoreWithClock({});
    const hash = await store.put(new Uint8Array(9), "image/png");
    clock.now += 5 * day;
    await store.put(new Uint8Array(9), "image/png");
    expect(await store.prune(clock.now)).toEqual({ tasks: 0, blobs: 0 });
    expect(await store.get(hash)).toBeDefined();
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("keeps an unused blob for its own grace period, and a used one as long as its task", async () => {
    const { store, clock } = await openStoreWithClock({ retentionDays: 1 });
    const unusedMs = 30 * day;
    const [draft = "", sent = ""] = await Promise.all(
      [1, 2].map((byte) => store.put(new Uint8Array([byte]), "image/png", { unusedMs })),
    );
    await store.put(new Uint8Array([1]), "image/png"); // The default grace period does not shorten the longer one.
    await addTask(store, "t", 1, `/api/blobs/${sent}`);
    clock.now += 29 * day;
    expect(await store.prune(clock.now)).toEqual({ tasks: 1, blobs: 0 });
    expect(await store.get(draft)).toBeDefined();
    expect(await store.prune(clock.now + day / 2)).toEqual({ tasks: 0, blobs: 1 });
    expect(await store.get(sent)).toBeUndefined();
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 0, blobs: 1 });
    expect(await store.get(draft)).toBeUndefined();
  });

  test("removes the attachments of a removed chat, even right after they were sent", async () => {
    const { store, clock } = await openStoreWithClock({});
    const unusedMs = 30 * day;
    const hash = await store.put(new Uint8Array([1]), "image/png", { unusedMs });
    const { chat } = await new ChatBuilder(store).create("a chat", `/api/blobs/${hash}`);
    await store.removeChat(chat.chat_id);
    expect(await store.prune(clock.now + day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("removes blob files that a crash left behind", async () => {
    const { store, path } = await openStoreWithClock({});
    const stored = await store.put(new Uint8Array(100_000), "image/png");
    const partialFile = join(`${path}-blobs`, `${"0".repeat(64)}.part`);
    writeFileSync(partialFile, "half");
    utimesSync(partialFile, new Date(start), new Date(start));
    await store.prune(start + 1);
    expect(readdirSync(`${path}-blobs`)).toHaveLength(2);
    await store.append(
      "t",
      [taskCreatedEntry("t"), ...warningEntries("t", 1, 1, `/api/blobs/${stored}`)],
      {
        durable: false,
      },
    );
    await store.prune(start + 2 * day);
    expect(readdirSync(`${path}-blobs`)).toEqual([stored]);
  });

  test("releases an idempotency key after a day, or when its task is removed", async () => {
    const { store, clock } = await openStoreWithClock({ retentionDays: 0.5 });
    await store.claimIdempotencyKey("key", "h1", "t1");
    clock.now += day;
    expect(await store.claimIdempotencyKey("key", "h2", "t2")).toEqual({
      rootTaskId: "t1",
      bodyHash: "h1",
    });
    clock.now += 1;
    const second = { rootTaskId: "t2", bodyHash: "h2" };
    expect(await store.claimIdempotencyKey("key", "h2", "t2")).toEqual(second);
    await addTask(store, "t2", 1);
    expect(await store.claimIdempotencyKey("key", "h3", "t3")).toEqual(second);
    expect(await store.prune(clock.now + 0.6 * day)).toMatchObject({ tasks: 1 });
    expect(await store.claimIdempotencyKey("key", "h3", "t3")).toEqual({
      rootTaskId: "t3",
      bodyHash: "h3",
    });
  });

  test("removes grants with the last task of their session", async () => {
    const { store, clock } = await openStoreWithClock({ retentionDays: 7 });
    for (const session of ["chat", "alone", "gone"])
      await store.addGrant(session, { tool: "shell" });
    await store.append("t", [taskCreatedEntry("t", 0, { session_id: "chat" })], { durable: false });
    await store.append("alone", [taskCreatedEntry("alone")], { durable: false });
    await store.prune(clock.now + 6 * day);
    expect(await store.listGrants("gone")).toEqual([{ tool: "shell" }]);
    await store.prune(clock.now + 8 * day);
    expect(await store.listGrants("gone")).toEqual([]);
    expect(await store.listGrants("chat")).toEqual([{ tool: "shell" }]);
    expect(await store.listGrants("alone")).toEqual([{ tool: "shell" }]);
  });
});

describe("pruning by size", () => {
  test("removes the tasks that ended first until the rest fits, and shrinks the file", async () => {
    const { store, clock, path } = await openStoreWithClock({ maxMb: 2 });
    for (const id of ["t0", "t1", "t2", "t3", "t4"]) {
      await store.append(id, [taskCreatedEntry(id)], { durable: false });
    }
    for (const id of ["t3", "t1", "t0", "t2"]) {
      clock.now += 1000;
      const remainingEntries = [
        ...warningEntries(id, 1, 50, "x".repeat(20_000)),
        taskCompletedEntry(id, 51),
      ];
      await store.append(id, remainingEntries, { durable: false });
    }
    expect(await store.size()).toBeGreaterThan(4_000_000);
    expect(await store.prune(clock.now)).toEqual({ tasks: 3, blobs: 0 });
    expect(await listIds(store)).toEqual(["t4", "t2"]);
    expect(await store.size()).toBeLessThan(2 * 1024 * 1024);
    await store.close();
    expect(statSync(path).size).toBeLessThan(2 * 1024 * 1024);
  });

  test("counts large blobs and removes them with their tasks", async () => {
    const { store, clock } = await openStoreWithClock({ maxMb: 2 });
    for (const index of [0, 1, 2]) {
      const hash = await store.put(new Uint8Array(1_200_000).fill(index), "image/png");
      await addTask(store, `t${index}`, 1, `/api/blobs/${hash}`);
      clock.now += 1000;
    }
    expect(await store.prune(clock.now + 2 * day)).toEqual({ tasks: 2, blobs: 2 });
    expect(await listIds(store)).toEqual(["t2"]);
  });

  test("removes no task because of unused new blobs", async () => {
    const { store, clock, warnings } = await openStoreWithClock({ maxMb: 1 });
    await addTask(store, "ended", 1);
    await store.put(new Uint8Array(5_000_000), "image/png");
    expect(await store.prune(clock.now)).toEqual({ tasks: 0, blobs: 0 });
    expect(warnings).toEqual([]);
    expect(await store.prune(clock.now + day)).toEqual({ tasks: 0, blobs: 1 });
  });

  test("warns if nothing more may be removed", async () => {
    const { store, warnings } = await openStoreWithClock({ maxMb: 1 });
    await store.append(
      "t",
      [taskCreatedEntry("t"), ...warningEntries("t", 1, 100, "x".repeat(20_000))],
      {
        durable: false,
      },
    );
    await addTask(store, "ended", 1);
    expect(await store.prune(start)).toEqual({ tasks: 1, blobs: 0 });
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the store uses 3 MB, more than max_mb = 1, but contains only chats and unfinished tasks/,
      ),
    ]);
  });
});

test("pruning finishes the removal that another process started, while new tasks are written", async () => {
  const { store, path } = await openStoreWithClock({});
  await addTask(store, "long", 10_000);
  await addTask(store, "other", 10);
  await store.close();
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  db.transaction(() => removeTask(db, 1));
  db.close();
  const reopened = await openTestStore({ path });
  expect(await listIds(reopened)).toEqual(["other"]);
  const pruning = reopened.prune(start);
  await reopened.append("new", [taskCreatedEntry("new")], { durable: true });
  await pruning;
  expect(await reopened.read("new", -1, 10)).toHaveLength(1);
  await reopened.close();
  const database = new DatabaseSync(path, { readOnly: true });
  expect(database.prepare("SELECT count(*) AS n FROM events").get()).toEqual({ n: 12 + 1 });
  expect(database.prepare("SELECT count(*) AS n FROM removed_tasks").get()).toEqual({ n: 0 });
  database.close();
});

async function openStoreWithClock(limits: { retentionDays?: number; maxMb?: number }) {
  const path = join(createTemporaryFolder(), "tasks.db");
  const clock = { now: start };
  const warnings: string[] = [];
  const store = await openTestStore({
    path,
    ...limits,
    now: () => clock.now,
    onWarning: (message) => warnings.push(message),
  });
  return { store, clock, path, warnings };
}

async function addTask(store: Store, id: string, events: number, message = "slow"): Promise<void> {
  const warningsBetween = warningEntries(id, 1, events, message);
  await store.append(
    id,
    [taskCreatedEntry(id), ...warningsBetween, taskCompletedEntry(id, events + 1)],
    {
      durable: false,
    },
  );
}

async function listIds(store: Store): Promise<string[]> {
  return (await store.listTasks({ owner: "", limit: 100 })).map(({ task_id }) => task_id);
}
