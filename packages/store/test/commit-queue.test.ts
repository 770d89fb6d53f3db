import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { CommitQueue } from "../src/sqlite/commit-queue.ts";
import { openForWriting } from "../src/sqlite/database.ts";
import { StoreError } from "../src/error.ts";
import type { SqliteConnection } from "../src/sqlite/connection.ts";
import { createTemporaryFolder } from "./test-store.ts";

test("writes of one turn of the event loop share a transaction and resolve after its commit", async () => {
  const { queue, countCommittedRows } = openQueue();
  const countsDuringWrites: number[] = [];
  const writes = ["a", "b", "c"].map((name) =>
    queue.enqueue((db) => {
      insertValue(db, name);
      countsDuringWrites.push(countCommittedRows());
    }, true),
  );
  const countsAfterWrites = writes.map((write) => write.then(countCommittedRows));
  expect(await Promise.all(countsAfterWrites)).toEqual([3, 3, 3]);
  expect(countsDuringWrites).toEqual([0, 0, 0]);
});

test("writes of the next turn are in the next transaction", async () => {
  const { queue, countCommittedRows } = openQueue();
  await queue.enqueue((db) => insertValue(db, "a"), false);
  expect(await queue.enqueue(countCommittedRows, false)).toBe(1);
});

test("a transaction syncs to disk only if one of its writes is durable", async () => {
  const { queue } = openQueue();
  const readSyncLevel = (db: SqliteConnection) =>
    db.get<{ synchronous: number }>("PRAGMA synchronous")?.synchronous;
  const [normal, full] = [1, 2];
  expect(await queue.enqueue(readSyncLevel, false)).toBe(normal);
  expect(await queue.enqueue(readSyncLevel, true)).toBe(full);
  expect(await queue.enqueue(readSyncLevel, false)).toBe(normal);
  expect(
    await Promise.all([queue.enqueue(readSyncLevel, false), queue.enqueue(readSyncLevel, true)]),
  ).toEqual([full, full]);
});

test("a rejected write is rolled back alone; the others run once, in order", async () => {
  const { queue, readCommittedValues } = openQueue();
  const results = await Promise.allSettled([
    queue.enqueue((db) => insertValue(db, "a"), true),
    queue.enqueue((db) => {
      insertValue(db, "x");
      throw new StoreError("store_failed", "no");
    }, true),
    queue.enqueue((db) => insertValue(db, "b"), true),
    queue.enqueue(() => {
      throw new StoreError("store_failed", "neither");
    }, true),
  ]);
  expect(results.map((result) => result.status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
  ]);
  expect(readCommittedValues()).toEqual(["a", "b"]);
});

test("if the database fails, all writes of the transaction are rejected, and the next one succeeds", async () => {
  const { queue, readCommittedValues } = openQueue();
  const results = await Promise.allSettled([
    queue.enqueue((db) => insertValue(db, "a"), true),
    queue.enqueue((db) => db.run("INSERT INTO nowhere VALUES (1)"), true),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  await queue.enqueue((db) => insertValue(db, "b"), true);
  expect(readCommittedValues()).toEqual(["b"]);
});

function openQueue() {
  const path = join(createTemporaryFolder(), "tasks.db");
  const db = openForWriting(path, { timeoutMs: 0, now: Date.now });
  db.execute("DELETE FROM meta");
  const reader = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => {
    reader.close();
    db.close();
  });
  const readCommittedValues = () =>
    reader
      .prepare("SELECT value FROM meta ORDER BY name")
      .all()
      .map((row) => row["value"]);
  return {
    queue: new CommitQueue(db),
    readCommittedValues,
    countCommittedRows: () => readCommittedValues().length,
  };
}

function insertValue(db: SqliteConnection, value: string): void {
  db.run("INSERT INTO meta (name, value) SELECT count(*), ? FROM meta", value);
}
