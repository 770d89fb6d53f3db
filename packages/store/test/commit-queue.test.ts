import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { CommitQueue } from "../src/commit-queue.ts";
import { openForWriting } from "../src/database.ts";
import { StoreError } from "../src/error.ts";
import type { Connection } from "../src/sql/connection.ts";
import { temporaryFolder } from "./opened.ts";

test("what comes in one turn of the event loop is one transaction, and resolves after it", async () => {
  const { queue, seenByOthers } = opened();
  const seen: number[] = [];
  const writes = ["a", "b", "c"].map((name) =>
    queue.add((db) => {
      insert(db, name);
      seen.push(seenByOthers());
    }, true),
  );
  const whenResolved = writes.map((write) => write.then(seenByOthers));
  expect(await Promise.all(whenResolved)).toEqual([3, 3, 3]);
  expect(seen).toEqual([0, 0, 0]);
});

test("what comes in the next turn is the next transaction", async () => {
  const { queue, seenByOthers } = opened();
  await queue.add((db) => insert(db, "a"), false);
  expect(await queue.add(seenByOthers, false)).toBe(1);
});

test("a transaction waits for the disk when one of its writes must last, and only then", async () => {
  const { queue } = opened();
  const level = (db: Connection) =>
    db.get<{ synchronous: number }>("PRAGMA synchronous")?.synchronous;
  const [normal, full] = [1, 2];
  expect(await queue.add(level, false)).toBe(normal);
  expect(await queue.add(level, true)).toBe(full);
  expect(await queue.add(level, false)).toBe(normal);
  expect(await Promise.all([queue.add(level, false), queue.add(level, true)])).toEqual([
    full,
    full,
  ]);
});

test("a write that is refused is undone alone; the others are done once, in their order", async () => {
  const { queue, names } = opened();
  const results = await Promise.allSettled([
    queue.add((db) => insert(db, "a"), true),
    queue.add((db) => {
      insert(db, "x");
      throw new StoreError("store_failed", "no");
    }, true),
    queue.add((db) => insert(db, "b"), true),
    queue.add(() => {
      throw new StoreError("store_failed", "neither");
    }, true),
  ]);
  expect(results.map((result) => result.status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
  ]);
  expect(names()).toEqual(["a", "b"]);
});

test("when the store itself fails, all of the transaction is refused, and the next one is taken", async () => {
  const { queue, names } = opened();
  const results = await Promise.allSettled([
    queue.add((db) => insert(db, "a"), true),
    queue.add((db) => db.run("INSERT INTO nowhere VALUES (1)"), true),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  await queue.add((db) => insert(db, "b"), true);
  expect(names()).toEqual(["b"]);
});

function opened() {
  const path = join(temporaryFolder(), "tasks.db");
  const db = openForWriting(path, { timeoutMs: 0, now: Date.now });
  db.execute("DELETE FROM meta");
  const reader = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => {
    reader.close();
    db.close();
  });
  const names = () =>
    reader
      .prepare("SELECT value FROM meta ORDER BY name")
      .all()
      .map((row) => row["value"]);
  return { queue: new CommitQueue(db), names, seenByOthers: () => names().length };
}

function insert(db: Connection, value: string): void {
  db.run("INSERT INTO meta (name, value) SELECT count(*), ? FROM meta", value);
}
