import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@deltawire/store";
import { expect, test } from "vitest";
import { openForWriting } from "../src/database.ts";
import { SqliteStore } from "../src/sqlite-store.ts";
import { opened, startChild, temporaryFolder } from "./opened.ts";
import { created, warnings } from "./sample-events.ts";

test("where files may not grow, batches are refused whole, and the store can be read on", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  // 4,000 blocks of 512 bytes (sh) or 1,024 (bash)
  const limited = ["sh", "-c", 'ulimit -f 4000; exec "$@"', "sh"];
  const child = startChild([path, "fill"], { command: limited });
  await child.ended;
  const [refused, read, again, blob] = child.lines.map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  expect(refused).toMatchObject({
    code: "store_full",
    message: expect.stringMatching(/cannot grow .+ Free some space, or keep less/),
  });
  expect(refused?.["kept"]).toBeGreaterThan(100);
  expect(read).toEqual({ rows: refused?.["kept"] });
  expect(again).toEqual({ again: "store_full", rows: refused?.["kept"] });
  expect(blob).toEqual({ blob: "store_full" });

  const store = await opened({ path });
  const kept = Number(refused?.["kept"]);
  expect(await store.head("t")).toMatchObject({ head: kept - 1 });
  await store.append("t", warnings("t", kept, 1), { durable: true });
});

test("when there is room again, the batch that was refused is taken", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const db = openForWriting(path, { timeoutMs: 100, now: Date.now });
  const store = new SqliteStore({
    db,
    path,
    files: undefined,
    readOnlyBecause: undefined,
    keepDays: undefined,
    maxMb: undefined,
    deletedDays: 30,
    now: Date.now,
    warn: () => {},
    onClosed: () => {},
  });
  await store.append("t", [created("t")], { durable: true });
  db.execute("PRAGMA max_page_count = 40"); // SQLite's own way to have a full disk
  const large = warnings("t", 1, 100, "x".repeat(2000));
  const error = await store.append("t", large, { durable: true }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "store_full" });
  expect(await store.read("t", -1, 1000)).toHaveLength(1);
  expect(await store.unfinished()).toEqual(["t"]);
  db.execute("PRAGMA max_page_count = 100000");
  await store.append("t", large, { durable: true });
  expect(await store.read("t", -1, 1000)).toHaveLength(101);
  await store.close();
});

test("while another program holds the file, a batch is refused after the timeout; then it is taken", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path, timeoutMs: 50 });
  await store.append("t", [created("t")], { durable: true });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  await expect(store.append("t", warnings("t", 1, 1), { durable: true })).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining("close what has it open for writing"),
  });
  expect(await store.read("t", -1, 10)).toHaveLength(1);
  other.exec("ROLLBACK");
  other.close();
  await store.append("t", warnings("t", 1, 1), { durable: true });
  expect(await store.read("t", -1, 10)).toHaveLength(2);
});
