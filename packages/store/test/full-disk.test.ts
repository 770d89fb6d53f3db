import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@deltawire/store";
import { expect, test } from "vitest";
import { openForWriting } from "../src/sqlite/database.ts";
import { SqliteStore } from "../src/sqlite/sqlite-store.ts";
import { openTestStore, startStoreProcess, createTemporaryFolder } from "./test-store.ts";
import { taskCreatedEntry, warningEntries } from "./sample-events.ts";

test("on a full disk, a batch is rejected completely and the store can still be read", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  // A full disk is simulated by a limit of 4,000 blocks per file; a block has 512 bytes in sh and 1,024 in bash.
  const sizeLimitCommand = ["sh", "-c", 'ulimit -f 4000; exec "$@"', "sh"];
  const child = startStoreProcess([path, "fill"], { wrapper: sizeLimitCommand });
  await child.exited;
  const [rejected, read, retry, blob] = child.lines.map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  expect(rejected).toMatchObject({
    code: "store_full",
    message: expect.stringMatching(
      /cannot grow .+ Free some space, or reduce retention_days or max_mb/,
    ),
  });
  expect(rejected?.["stored"]).toBeGreaterThan(100);
  expect(read).toEqual({ rows: rejected?.["stored"] });
  expect(retry).toEqual({ retry: "store_full", rows: rejected?.["stored"] });
  expect(blob).toEqual({ blob: "store_full" });

  const store = await openTestStore({ path });
  const stored = Number(rejected?.["stored"]);
  expect(await store.head("t")).toMatchObject({ head: stored - 1 });
  await store.append("t", warningEntries("t", stored, 1), { durable: true });
});

test("a batch that a full disk rejected is accepted when there is space again", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  const store = new SqliteStore({
    db,
    path,
    blobFiles: undefined,
    readOnlyReason: undefined,
    retentionDays: undefined,
    maxMb: undefined,
    deletedDays: 30,
    now: Date.now,
    warn: () => {},
    onClose: () => {},
  });
  await store.append("t", [taskCreatedEntry("t")], { durable: true });
  db.execute("PRAGMA max_page_count = 40"); // SQLite reports a full database file like a full disk
  const large = warningEntries("t", 1, 100, "x".repeat(2000));
  const error = await store.append("t", large, { durable: true }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "store_full" });
  expect(await store.read("t", -1, 1000)).toHaveLength(1);
  expect(await store.listUnfinished()).toEqual(["t"]);
  db.execute("PRAGMA max_page_count = 100000");
  await store.append("t", large, { durable: true });
  expect(await store.read("t", -1, 1000)).toHaveLength(101);
  await store.close();
});

test("while another program locks the file, a batch is rejected after the timeout; it is accepted afterwards", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path, timeoutMs: 50 });
  await store.append("t", [taskCreatedEntry("t")], { durable: true });
  const otherConnection = new DatabaseSync(path);
  otherConnection.exec("BEGIN IMMEDIATE");
  await expect(
    store.append("t", warningEntries("t", 1, 1), { durable: true }),
  ).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining("is locked by another program"),
  });
  expect(await store.read("t", -1, 10)).toHaveLength(1);
  otherConnection.exec("ROLLBACK");
  otherConnection.close();
  await store.append("t", warningEntries("t", 1, 1), { durable: true });
  expect(await store.read("t", -1, 10)).toHaveLength(2);
});
