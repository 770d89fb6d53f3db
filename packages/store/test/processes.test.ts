import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "@deltawire/store";
import { expect, test } from "vitest";
import { opened, startChild, temporaryFolder } from "./opened.ts";
import { created } from "./sample-events.ts";

test("nothing that was acknowledged is lost by kill -9, and no batch is torn", async () => {
  for (const [round, lines] of [1, 40, 300].entries()) {
    const path = join(temporaryFolder(), "tasks.db");
    const child = startChild([path, "append"]);
    await child.printed(lines);
    await sleep(round * 3);
    child.process.kill("SIGKILL");
    await child.ended;
    expect(child.lines.length).toBeGreaterThanOrEqual(lines);

    const store = await opened({ path });
    for (const task of ["a", "b", "c"]) {
      const rows = await store.read(task, -1, 1_000_000);
      const acknowledged = child.lines.filter((line) => line.startsWith(task)).at(-1);
      expect(rows.map((row) => row.sequence_number)).toEqual([...rows.keys()]);
      expect(rows.length - 1).toBeGreaterThanOrEqual(Number(acknowledged?.slice(2) ?? 0));
      expect(await store.head(task)).toMatchObject({ head: rows.length - 1, status: "created" });
      expect(rows.length).toBe(endOfBatch(rows.at(-1)));
    }
    expect(await store.unfinished()).toEqual(expect.arrayContaining(["a", "b", "c"]));
  }
});

/** The message of each event names the first number of its batch and its length. */
function endOfBatch(row: { json: string } | undefined): number {
  const [, first = "0", length = "1"] = /"message":"(\d+)\+(\d+)"/.exec(row?.json ?? "") ?? [];
  return Number(first) + Number(length);
}

test("a second process is told who has the store, and what to do", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const holder = startChild([path, "hold"]);
  await holder.printed(1);
  const second = startChild([path, "open"]);
  await second.ended;
  const told = JSON.parse(second.lines[0] ?? "") as { code: string; message: string };
  expect(told.code).toBe("store_locked");
  expect(told.message).toContain(`${path} is in use by process ${holder.process.pid} since 2`);
  expect(told.message).toContain("stop it, or give this one a path of its own");
});

test("the store is free again when the process that had it was killed", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const holder = startChild([path, "hold"]);
  await holder.printed(1);
  await expect(openStore({ path, timeoutMs: 50 })).rejects.toMatchObject({ code: "store_locked" });
  holder.process.kill("SIGKILL");
  await holder.ended;
  await opened({ path, timeoutMs: 50 });
});

test("one that waits gets the store when the other one lets go of it", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const holder = startChild([path, "hold"]);
  await holder.printed(1);
  const waiting = opened({ path, timeoutMs: 8000 });
  await sleep(50);
  holder.process.stdin?.end();
  expect((await waiting).readOnly).toBe(false);
});

test("a second opening in the same process is refused, and leaves the first one's lock alone", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path });
  await expect(openStore({ path, timeoutMs: 0 })).rejects.toMatchObject({ code: "store_locked" });
  const other = startChild([path, "open"]);
  await other.ended;
  expect(JSON.parse(other.lines[0] ?? "")).toMatchObject({ code: "store_locked" });
  await store.close();
  const later = startChild([path, "open"]);
  await later.ended;
  expect(JSON.parse(later.lines[0] ?? "")).toEqual({ opened: true });
});

test("another process can read what one writes, and is told that it may not write", async () => {
  const path = join(temporaryFolder(), "tasks.db");
  const store = await opened({ path });
  const reader = await opened({ path, readOnly: true });
  await store.append("t", [created("t")], { durable: false });
  expect(await reader.unfinished()).toEqual(["t"]);
  expect(reader.readOnly).toBe(true);
  await expect(reader.append("u", [created("u")], { durable: true })).rejects.toMatchObject({
    code: "store_unreachable",
    message: `${path} is open for reading only: as it was asked for`,
  });
});
