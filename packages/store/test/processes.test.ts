import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "@deltawire/store";
import { expect, test } from "vitest";
import { openTestStore, startStoreProcess, createTemporaryFolder } from "./test-store.ts";
import { taskCreatedEntry } from "./sample-events.ts";

test("kill -9 loses no acknowledged events and splits no batch", async () => {
  for (const [round, lines] of [1, 40, 300].entries()) {
    const path = join(createTemporaryFolder(), "tasks.db");
    const child = startStoreProcess([path, "append"]);
    await child.waitForLines(lines);
    await sleep(round * 3);
    child.process.kill("SIGKILL");
    await child.exited;
    expect(child.lines.length).toBeGreaterThanOrEqual(lines);

    const store = await openTestStore({ path });
    for (const task of ["a", "b", "c"]) {
      const rows = await store.read(task, -1, 1_000_000);
      const acknowledged = child.lines.filter((line) => line.startsWith(task)).at(-1);
      expect(rows.map((row) => row.sequence_number)).toEqual([...rows.keys()]);
      expect(rows.length - 1).toBeGreaterThanOrEqual(Number(acknowledged?.slice(2) ?? 0));
      expect(await store.head(task)).toMatchObject({ head: rows.length - 1, status: "created" });
      expect(rows.length).toBe(parseBatchEnd(rows.at(-1)));
    }
    expect(await store.listUnfinished()).toEqual(expect.arrayContaining(["a", "b", "c"]));
  }
});

/** The message of each event contains the first number and the length of its batch. */
function parseBatchEnd(row: { json: string } | undefined): number {
  const [, first = "0", length = "1"] = /"message":"(\d+)\+(\d+)"/.exec(row?.json ?? "") ?? [];
  return Number(first) + Number(length);
}

test("a second process gets an error that names the owner and the solutions", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const holder = startStoreProcess([path, "hold"]);
  await holder.waitForLines(1);
  const second = startStoreProcess([path, "open"]);
  await second.exited;
  const reported = JSON.parse(second.lines[0] ?? "") as { code: string; message: string };
  expect(reported.code).toBe("store_locked");
  expect(reported.message).toContain(`${path} is in use by process ${holder.process.pid} since 2`);
  expect(reported.message).toContain("stop it, or use another path");
});

test("the store can be opened again after its process was killed", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const holder = startStoreProcess([path, "hold"]);
  await holder.waitForLines(1);
  await expect(openStore({ path, timeoutMs: 50 })).rejects.toMatchObject({ code: "store_locked" });
  holder.process.kill("SIGKILL");
  await holder.exited;
  await openTestStore({ path, timeoutMs: 50 });
});

test("a waiting process gets the store when the other one closes it", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const holder = startStoreProcess([path, "hold"]);
  await holder.waitForLines(1);
  const waiting = openTestStore({ path, timeoutMs: 8000 });
  await sleep(50);
  holder.process.stdin?.end();
  expect((await waiting).readOnly).toBe(false);
});

test("opening a store twice in one process is rejected and does not release the lock", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path });
  await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
  const processWhileOpen = startStoreProcess([path, "open"]);
  await processWhileOpen.exited;
  expect(JSON.parse(processWhileOpen.lines[0] ?? "")).toMatchObject({ code: "store_locked" });
  await store.close();
  const processAfterClose = startStoreProcess([path, "open"]);
  await processAfterClose.exited;
  expect(JSON.parse(processAfterClose.lines[0] ?? "")).toEqual({ opened: true });
});

test("a second, read-only connection can read while the first one writes, but its own writes are rejected", async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  const store = await openTestStore({ path });
  const reader = await openTestStore({ path, readOnly: true });
  await store.append("t", [taskCreatedEntry("t")], { durable: false });
  expect(await reader.listUnfinished()).toEqual(["t"]);
  expect(reader.readOnly).toBe(true);
  await expect(
    reader.append("u", [taskCreatedEntry("u")], { durable: true }),
  ).rejects.toMatchObject({
    code: "store_unreachable",
    message: `${path} is read-only: opened with readOnly`,
  });
});
