import { join } from "node:path";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { checkStore, copyStore, openStore, type StoreLocation } from "@deltawire/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  canRunPostgres,
  connectToPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { ChatBuilder, getLastNodeId } from "../contract/chat-builder.ts";
import {
  taskCompletedEntry,
  taskCreatedEntry,
  createEntry,
  durable,
  warningEntry,
} from "../contract/scenario.ts";
import { createTemporaryFolder } from "./test-store.ts";

const createPath = () => join(createTemporaryFolder(), "deltawire.db");

/** Everything that a user could have stored. */
async function fill(location: StoreLocation): Promise<void> {
  const store = await openStore(location);
  const small = await store.put(Uint8Array.of(1, 2, 3), "image/png");
  const large = await store.put(new Uint8Array(100_000).fill(7), "image/png");
  for (let task = 0; task < 5; task += 1) {
    const id = `task_${task}`;
    await store.append(id, [taskCreatedEntry(id, 0, { session_id: "s" })], durable);
    const shown = warningEntry(id, 1, `/api/blobs/${small} /api/blobs/${large} zero \0`);
    const joined = warningEntry(id, 4);
    joined.event.coalesced_from = 2;
    joined.json = JSON.stringify(joined.event);
    const hidden = createEntry(id, 5, { type: "task.working" }, { secret: "é" });
    await store.append(id, [shown, joined, hidden], durable);
    if (task > 2) await store.append(id, [taskCompletedEntry(id, 6)], durable);
    await store.saveSnapshot(id, 5, "{}");
  }
  await store.addGrant("s", { tool: "shell" });
  await store.claimIdempotencyKey("key", "hash", "task_0");
  await store.getOrCreateSecret("sealing_key", "secret of the source");
  const builder = new ChatBuilder(store);
  let chat = await builder.create("Züge \0", "When?", `At 9. /api/blobs/${large}`, "请用GPT模型");
  chat = await builder.saveEdit(chat, { type: "tag", tags: ["trips", "a\0b"] });
  const deletion = builder.edit(chat.chat, {
    type: "delete_node",
    node_id: getLastNodeId(chat.chat) ?? "",
    children: "delete",
  });
  chat = await builder.saveChat(chat, deletion.chat, deletion.removals);
  await store.addPlaceholders(chat.chat.chat_id, [
    { placeholder: "{{NAME_1_x}}", value: "Ada\0", kind: "name" },
  ]);
  const removed = await builder.create("removed", "one");
  await store.removeChat(removed.chat.chat_id);
  await builder.create("deleted", "two");
  await store.close();
}

/** Reads everything through the interface of stores. */
async function readAll(location: StoreLocation): Promise<unknown> {
  const store = await openStore(location);
  const tasks = await store.listTasks({ owner: "", limit: 100 });
  const chats = await store.listChats({ owner: "", limit: 100 });
  const content = {
    tasks,
    unfinished: await store.listUnfinished(),
    events: await Promise.all(tasks.map(({ task_id }) => store.read(task_id, -1, 1000))),
    snapshots: await Promise.all(tasks.map(({ task_id }) => store.snapshot(task_id))),
    grants: await store.listGrants("s"),
    secret: await store.getSecret("sealing_key"),
    key: await store.claimIdempotencyKey("key", "other", "task_9"),
    chats,
    tags: await store.listTags(""),
    opened: await Promise.all(chats.map(({ chat_id }) => store.getChat(chat_id))),
    removals: await Promise.all(chats.map(({ chat_id }) => store.listRemovals(chat_id))),
    placeholders: await Promise.all(chats.map(({ chat_id }) => store.listPlaceholders(chat_id))),
    changes: await store.listChatChanges("", 0, 100),
    stamps: await store.getChatStamps(),
    found: await store.searchChats("when", { owner: "", limit: 10 }),
    foundChinese: await store.searchChats("zug", { owner: "", limit: 10 }),
    blobs: await Promise.all(
      [Uint8Array.of(1, 2, 3), new Uint8Array(100_000).fill(7)].map((bytes) =>
        store.put(bytes, "image/png"),
      ),
    ),
  };
  await store.close();
  return content;
}

/** Continues to use a copied store. */
async function useFurther(location: StoreLocation): Promise<void> {
  const store = await openStore(location);
  await store.append("task_new", [taskCreatedEntry("task_new")], durable);
  await store.append("task_0", [warningEntry("task_0", 6)], durable);
  const builder = new ChatBuilder(store);
  const { chat } = { chat: builder.build("another") };
  await store.createChats([{ chat: { ...chat, chat_id: "chat_new" } }]);
  expect((await store.listUnfinished()).at(-1)).toBe("task_new");
  await store.close();
}

describe("copying a store", () => {
  test("to another file keeps everything, and the copy is a working store", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    const steps = new Set<string>();
    const { rows } = await copyStore(from, to, (progress) => {
      expect(progress.bytes).toBeLessThanOrEqual(progress.totalBytes);
      steps.add(progress.step);
    });
    expect(rows).toBeGreaterThan(40);
    expect([...steps]).toEqual(["copy", "compare", "index"]);
    expect(await readAll(to)).toEqual(await readAll(from));
    await useFurther(to);
    expect(await checkStore(to)).toMatchObject({ problems: [] });
  });

  test("rejects a target with data", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    await fill(to);
    await expect(copyStore(from, to)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("already contains data; choose an empty store"),
    });
  });

  test("reports its progress in bytes, while large tables are copied and compared", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    const store = await openStore(from);
    for (let index = 0; index < 25; index += 1)
      await store.put(new Uint8Array(100_000).fill(index), "image/png");
    await store.close();
    const shares = { copy: new Set<number>(), compare: new Set<number>() };
    await copyStore(from, to, ({ step, table, bytes, totalBytes }) => {
      expect(totalBytes).toBeGreaterThan(2_500_000);
      if (step !== "index" && table === "blobs")
        shares[step].add(Math.round((bytes / totalBytes) * 100));
    });
    expect([...shares.copy]).toEqual([0, 40, 80, 100]);
    expect([...shares.compare]).toEqual([20, 40, 50, 70, 90, 100]);
  });

  test("only compares if an earlier call finished it, and says so", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    rmSync(`${from.path}-blobs`, { recursive: true });
    const { rows } = await copyStore(from, to);
    const steps = new Set<string>();
    const repeated = await copyStore(from, to, ({ step }) => steps.add(step));
    expect(repeated).toEqual({
      rows,
      missingBlobs: 1,
      secrets: ["sealing_key"],
      wasComplete: true,
    });
    expect([...steps]).toEqual(["compare"]);
    const copy = await openStore(to);
    await copy.append("task_0", [warningEntry("task_0", 6)], durable);
    await copy.close();
    await expect(copyStore(from, to)).rejects.toMatchObject({
      message: expect.stringContaining("already contains data"),
    });
  });

  test("creates nothing if the source cannot be copied, or the folder of the target is missing", async () => {
    const folder = createTemporaryFolder();
    const to = { path: join(folder, "to.db") };
    const source = { path: createPath() };
    await fill(source);
    const unfinished = { path: createPath() };
    let pages = 0;
    const interrupted = copyStore(source, unfinished, () => {
      pages += 1;
      if (pages === 9) throw new Error("interrupted");
    });
    await expect(interrupted).rejects.toThrow("interrupted");
    for (const [from, problem] of [
      [unfinished, /contains an unfinished copy of/],
      [{ path: join(folder, "no.db") }, /^FROM: .*no\.db does not exist; check the path/],
      [{ url: "postgres://ann@127.0.0.1:9/nothing" }, /^FROM: postgres:.* cannot be reached/],
      [{ url: "postgres://ann:12#geheim@db/chats" }, /^FROM: .*invalid.* %23 for # in the/],
    ] as const) {
      await expect(copyStore(from, to)).rejects.toThrow(problem);
      expect(readdirSync(folder)).toEqual([]);
    }
    const missing = { path: join(folder, "missing", "to.db") };
    await expect(copyStore(source, missing)).rejects.toThrow(
      /^TO: the folder .*missing does not exist; create it, or correct the path/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test("continues after an interruption, and cannot be mixed with another source", async () => {
    const [from, to, other] = [
      { path: createPath() },
      { path: createPath() },
      { path: createPath() },
    ];
    await fill(from);
    await fill(other);
    let pages = 0;
    const interrupted = copyStore(from, to, () => {
      pages += 1;
      if (pages === 9) throw new Error("interrupted");
    });
    await expect(interrupted).rejects.toThrow("interrupted");
    await expect(copyStore(other, to)).rejects.toMatchObject({
      message: expect.stringContaining("contains an unfinished copy of"),
    });
    await expect(openStore(to)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("store copy"),
    });
    await copyStore(from, to);
    expect(await readAll(to)).toEqual(await readAll(from));
  });

  test("rejects a source that is in use or an unfinished copy itself", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    const gateway = await openStore(from);
    await expect(copyStore(from, to)).rejects.toMatchObject({ code: "store_locked" });
    await gateway.close();
    let pages = 0;
    const interrupted = copyStore(from, to, () => {
      pages += 1;
      if (pages === 9) throw new Error("interrupted");
    });
    await expect(interrupted).rejects.toThrow("interrupted");
    const unfinished = { message: expect.stringContaining("contains an unfinished copy of") };
    await expect(copyStore(to, { path: createPath() })).rejects.toMatchObject(unfinished);
    await expect(checkStore(to)).rejects.toMatchObject(unfinished);
  });

  test("replaces a secret that a gateway has created in the empty target", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    const target = await openStore(to);
    await target.getOrCreateSecret("sealing_key", "secret of the target");
    await target.close();
    expect(await copyStore(from, to)).toMatchObject({ secrets: ["sealing_key"] });
    expect(await readAll(to)).toEqual(await readAll(from));
  });

  test("skips blobs whose files are missing, and counts them", async () => {
    const [from, to] = [{ path: createPath() }, { path: createPath() }];
    await fill(from);
    rmSync(`${from.path}-blobs`, { recursive: true });
    expect(await copyStore(from, to)).toMatchObject({ missingBlobs: 1 });
    expect((await checkStore(to)).problems).toEqual([expect.stringContaining("it is missing")]);
  });

  test("reports a source that does not exist", async () => {
    const missing = { path: join(createTemporaryFolder(), "no.db") };
    await expect(copyStore(missing, { path: createPath() })).rejects.toMatchObject({
      message: expect.stringContaining("no.db does not exist; check the path"),
    });
  });
});

describe.skipIf(!canRunPostgres)("copying a store between SQLite and PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  test("and back keeps everything", async () => {
    const from = { path: createPath() };
    const between = { url: server.url, schema: "copied" };
    const back = { path: createPath() };
    await fill(from);
    await copyStore(from, between);
    expect(await readAll(between)).toEqual(await readAll(from));
    expect(await checkStore(between)).toMatchObject({ problems: [] });
    await copyStore(between, back);
    expect(await readAll(back)).toEqual(await readAll(from));
    await useFurther(between);
    await useFurther(back);
  });

  test("continues if it was interrupted after the search index was rebuilt", async () => {
    const from = { path: createPath() };
    await fill(from);
    for (const to of [{ url: server.url, schema: "indexed" }, { path: createPath() }]) {
      await copyStore(from, to);
      // As if the process had ended just before it recorded that the copy is complete.
      await markUnfinished(to, from.path);
      await copyStore(from, to);
      expect(await readAll(to)).toEqual(await readAll(from));
    }
  });

  test("keeps the order of search results, including messages that are added later", async () => {
    const from = { path: createPath() };
    const to = { url: server.url, schema: "searched" };
    const source = await openStore(from);
    const created = await new ChatBuilder(source).create(
      "old",
      "word 1",
      "word 2",
      "word 3",
      "word 4",
    );
    await source.close();
    await copyStore(from, to);
    const copy = await openStore(to);
    const builder = new ChatBuilder(copy);
    const stored = await builder.open(created.chat.chat_id);
    await builder.saveChat(stored, builder.addText(stored.chat, "word 5"));
    const [found] = await copy.searchChats("word", { owner: "", limit: 10 });
    expect(found?.hits.map(({ text }) => text)).toEqual(["word 5", "word 4", "word 3"]);
    await copy.close();
  });
});

describe("checking a store", () => {
  test("counts its rows and finds no problems in a consistent one", async () => {
    const location = { path: createPath() };
    await fill(location);
    const { rows, problems } = await checkStore(location);
    expect(problems).toEqual([]);
    expect(rows).toMatchObject({ tasks: 5, chats: 2, blobs: 2, removed_chats: 1 });
  });

  test.each([
    ["a missing event", "DELETE FROM events WHERE sequence_number = 1", "event 2 follows event 0"],
    ["a missing last event", "DELETE FROM events WHERE sequence_number = 5", "the last event is 4"],
    ["invalid JSON", "UPDATE events SET json = '{' WHERE sequence_number = 1", "invalid JSON"],
    ["a missing header", "DELETE FROM chat_nodes WHERE node_id = ''", "it has no header"],
    [
      "a changed blob",
      "UPDATE blobs SET bytes = x'00' WHERE in_file = 0",
      "its content has changed",
    ],
    ["a missing blob", "DELETE FROM blobs WHERE in_file = 0", "it is missing"],
  ])("reports %s", async (_case, sql, problem) => {
    const location = { path: createPath() };
    await fill(location);
    const db = new DatabaseSync(location.path);
    db.exec(sql);
    db.close();
    const { problems } = await checkStore(location);
    expect(problems.join("\n")).toContain(problem);
  });

  test("reports missing and changed files of large blobs", async () => {
    const location = { path: createPath() };
    await fill(location);
    const store = await openStore(location);
    const hash = await store.put(new Uint8Array(100_000).fill(7), "image/png");
    await store.close();
    const file = join(`${location.path}-blobs`, hash);
    writeFileSync(file, new Uint8Array(100_000));
    expect((await checkStore(location)).problems.join()).toContain("its content has changed");
    rmSync(file);
    expect((await checkStore(location)).problems.join()).toContain("it is missing");
  });
});

async function markUnfinished(location: StoreLocation, source: string): Promise<void> {
  const sql = `INSERT INTO meta (name, value) VALUES ('copy', '${source}')`;
  if ("path" in location) {
    const db = new DatabaseSync(location.path);
    db.exec(sql);
    db.close();
    return;
  }
  const client = await connectToPostgres(location.url);
  await client.query(`SET search_path = ${location.schema}; ${sql}`);
  await client.end();
}
