import { join } from "node:path";
import { copyStore, openStore, type Store } from "@deltawire/store";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  canRunPostgres,
  connectToPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { ChatBuilder } from "../contract/chat-builder.ts";
import {
  taskCompletedEntry,
  taskCreatedEntry,
  durable,
  warningEntry,
} from "../contract/scenario.ts";
import { createTemporaryFolder } from "./test-store.ts";

describe.skipIf(!canRunPostgres)("a PostgreSQL store", () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  const newSchema = () => `test_${(schemas += 1)}`;
  const open = async (schema: string, url = server.url): Promise<Store> => {
    const store = await openStore({ url, schema, exclusive: false, timeoutMs: 5000 });
    onTestFinished(() => store.close());
    return store;
  };

  test("finds the same chats as SQLite, with the same hits", async () => {
    const sqlite = await openStore({ path: ":memory:" });
    onTestFinished(() => sqlite.close());
    const stores = [await open(newSchema()), sqlite];
    const builders = stores.map((store) => new ChatBuilder(store));
    const characters = ["的一模型", "abAéＡ", "아워ガｶﾞー", " -，.½ß"].map((some) =>
      fc.string({ unit: fc.constantFrom(...Array.from(some)), minLength: 1, maxLength: 4 }),
    );
    const text = fc
      .array(fc.oneof(...characters), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, text, text, async (message, answer, query) => {
        for (const builder of builders) await builder.create("title", message, answer);
        const [found, expected] = await Promise.all(
          stores.map((store) => store.searchChats(query, { owner: "", limit: 20 })),
        );
        const withoutStamps = (results: typeof found) =>
          results?.map(({ chat, ...result }) => ({ ...result, chat_id: chat.chat_id }));
        expect(withoutStamps(found)).toEqual(withoutStamps(expected));
      }),
      { numRuns: 100 },
    );
  });

  describe("opened by several processes at once", () => {
    test("creates its tables once", async () => {
      const schema = newSchema();
      const stores = await Promise.all(Array.from({ length: 6 }, () => open(schema)));
      await stores[0]?.append("t", [taskCreatedEntry("t")], durable);
      for (const store of stores) expect(await store.listUnfinished()).toEqual(["t"]);
    });

    test("numbers the changes of chats in the order in which they become visible", async () => {
      const schema = newSchema();
      const stores = await Promise.all([open(schema), open(schema), open(schema)]);
      const [reader] = stores;
      const seen: number[] = [];
      const total = 60;
      const reading = (async () => {
        while (seen.length < total)
          for (const { stamp } of await reader.listChatChanges("", seen.at(-1) ?? 0, 1000))
            seen.push(stamp);
      })();
      await Promise.all(
        stores.map(async (store, writer) => {
          const builder = new ChatBuilder(store);
          for (let number = 0; number < total / stores.length; number += 1) {
            const chat = {
              ...builder.build(`chat ${number}`),
              chat_id: `chat_${writer}_${number}`,
            };
            await store.createChats([{ chat }]);
          }
        }),
      );
      await reading;
      // A reader that saw stamp 5 before stamp 4 was committed would miss 4.
      expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    });

    test("accepts an event number of a task only once", async () => {
      const schema = newSchema();
      const [one, two] = await Promise.all([open(schema), open(schema)]);
      await one.append("t", [taskCreatedEntry("t")], durable);
      const results = await Promise.allSettled([
        one.append("t", [warningEntry("t", 1, "one")], durable),
        two.append("t", [warningEntry("t", 1, "two")], durable),
      ]);
      expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(await one.read("t", -1, 10)).toHaveLength(2);
    });

    test("leases are renewed and tasks claimed while all other connections are occupied", async () => {
      const schema = newSchema();
      const store = await open(schema);
      await store.append("t", [taskCreatedEntry("t")], durable);
      const admin = await connectToPostgres(server.url);
      await admin.query("BEGIN");
      await admin.query(`LOCK TABLE ${schema}.chats IN ACCESS EXCLUSIVE MODE`);
      let answered = 0;
      const requests = Array.from({ length: 20 }, async () => {
        await store.listChats({ owner: "", limit: 10 });
        answered += 1;
      });
      expect(await store.renewLease("p", 60_000)).toBe(false);
      expect(await store.claimTasks("p", { limit: 10 })).toEqual([{ taskId: "t", epoch: 1 }]);
      expect(await store.listLeases("p")).toHaveLength(1);
      expect(await store.renewLease("p", 60_000)).toBe(true);
      await store.releaseLeases("p");
      expect(answered).toBe(0);
      await admin.query("COMMIT");
      await admin.end();
      await Promise.all(requests);
    });

    test("exactly one of two concurrent saves of a chat is a conflict", async () => {
      const schema = newSchema();
      const [one, two] = await Promise.all([open(schema), open(schema)]);
      const builder = new ChatBuilder(one);
      const stored = await builder.create("Trains", "When?");
      const saves = await Promise.all([
        one.saveChat(stored, builder.addText(stored.chat, "one")),
        two.saveChat(stored, builder.addText(stored.chat, "two")),
      ]);
      expect(saves.filter((saved) => saved === "conflict")).toHaveLength(1);
    });
  });

  describe("opened by processes whose clocks differ", () => {
    const hourMs = 3_600_000;
    const openWithClock = async (
      schema: string,
      aheadMs: number,
      overrides = {},
    ): Promise<Store> => {
      const now = () => Date.now() + aheadMs;
      const store = await openStore({
        url: server.url,
        schema,
        exclusive: false,
        now,
        ...overrides,
      });
      onTestFinished(() => store.close());
      return store;
    };

    test("a blob that is not yet referred to survives pruning by any of them", async () => {
      const schema = newSchema();
      const stores = await Promise.all([-2, 0, 2].map((h) => openWithClock(schema, h * hourMs)));
      for (const [index, store] of stores.entries()) {
        const hash = await store.put(Uint8Array.of(index), "image/png");
        for (const other of stores) expect(await other.prune()).toEqual({ tasks: 0, blobs: 0 });
        expect(await store.get(hash)).toBeDefined();
      }
      // Nor does a clock that is ahead make it stay longer.
      const later = Date.now() + hourMs + 60_000;
      expect(await stores[0]?.prune(later)).toEqual({ tasks: 0, blobs: 3 });
    });

    test("an idempotency key stays reserved for a day", async () => {
      const schema = newSchema();
      const [exact, ahead, behind] = await Promise.all(
        [0, 25, -25].map((h) => openWithClock(schema, h * hourMs)),
      );
      const claim = (store: Store | undefined, task: string) =>
        store?.claimIdempotencyKey("key", "hash", task);
      expect(await claim(behind, "task_1")).toMatchObject({ rootTaskId: "task_1" });
      await ahead?.prune();
      expect(await claim(ahead, "task_2")).toMatchObject({ rootTaskId: "task_1" });
      expect(await claim(exact, "task_3")).toMatchObject({ rootTaskId: "task_1" });
    });

    test("ended tasks, deleted chats and removals are stored for the configured time", async () => {
      const schema = newSchema();
      const retention = { retentionDays: 1 / 24, deletedDays: 1 / 24 };
      const open2 = (hours: number) => openWithClock(schema, hours * hourMs, retention);
      const [behind, ahead] = [await open2(-3), await open2(3)];
      const builder = new ChatBuilder(behind);
      const { chat } = await builder.create("deleted", "one");
      const pastTime = new Date(Date.now() - 3 * hourMs).toISOString();
      await behind.setDeleted(chat.chat_id, pastTime);
      const removed = await builder.create("removed", "one");
      await behind.removeChat(removed.chat.chat_id);
      const edited = await builder.create("edited", "one");
      const nodeId = Object.keys(edited.chat.nodes)[0] ?? "";
      const deletion = builder.edit(edited.chat, {
        type: "delete_node",
        node_id: nodeId,
        children: "delete",
      });
      await builder.saveChat(edited, deletion.chat, deletion.removals);
      await behind.append("t", [taskCreatedEntry("t"), taskCompletedEntry("t", 1)], durable);
      const listAll = async () => ({
        task: await behind.head("t"),
        deleted: (await behind.getChat(chat.chat_id))?.deleted_at,
        removals: (await behind.listRemovals(edited.chat.chat_id)).length,
        oldest: (await behind.getChatStamps()).oldest,
      });
      const before = await listAll();
      expect(before).toMatchObject({ deleted: pastTime, removals: 1, oldest: 0 });
      expect(await ahead.prune()).toEqual({ tasks: 0, blobs: 0 });
      expect(await listAll()).toEqual(before);
      expect(await behind.prune(Date.now() + 1.1 * hourMs)).toMatchObject({ tasks: 1 });
      expect(await listAll()).toMatchObject({ task: undefined, deleted: undefined, removals: 0 });
    });

    test("they agree on the time", async () => {
      const schema = newSchema();
      const stores = await Promise.all([-1, 0, 1].map((h) => openWithClock(schema, h * hourMs)));
      for (const store of stores)
        expect(Math.abs((await store.getTime()) - Date.now())).toBeLessThan(60_000);
    });

    test("a lost reply is found for an hour", async () => {
      const schema = newSchema();
      const [behind, ahead] = [
        await openWithClock(schema, -2 * hourMs),
        await openWithClock(schema, 2 * hourMs),
      ];
      const creation = { replyKey: "reply" };
      await behind.append("t", [taskCreatedEntry("t")], { ...durable, creation });
      await behind.append("t", [taskCompletedEntry("t", 1)], durable);
      await behind.setReplyLost("t", true);
      expect(await ahead.findTaskWithLostReply("reply")).toBe("t");
    });
  });

  test("continues after a restart of the server", async () => {
    const store = await open(newSchema());
    await store.append("t", [taskCreatedEntry("t")], durable);
    await server.restart();
    await expect
      .poll(() => store.append("t", [warningEntry("t", 1)], durable).then(() => "stored", String))
      .toBe("stored");
    expect(await store.read("t", -1, 10)).toHaveLength(2);
  });

  test("names all processes that keep a copy from using it", async () => {
    const from = { url: server.url, schema: newSchema() };
    const gateways = [await open(from.schema), await open(from.schema)];
    const to = { path: join(createTemporaryFolder(), "copy.db") };
    const each = `process ${process.pid} on \\S+ \\([^)]+ PostgreSQL backend \\d+\\)`;
    await expect(copyStore(from, to)).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringMatching(
        new RegExp(`is in use by 2 other processes, ${each}, ${each}; stop them, or use another`),
      ) as string,
    });
    for (const gateway of gateways) await gateway.close();
    await copyStore(from, to);
  });

  test("is used by one process at a time, unless it is shared", async () => {
    const options = { url: server.url, schema: newSchema(), timeoutMs: 300 };
    const first = await openStore(options);
    const second = openStore(options);
    await expect(second).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringMatching(
        new RegExp(
          `is in use by another process, process ${process.pid} on \\S+ \\(connected from 127\\.0\\.0\\.1 since \\S+Z, PostgreSQL backend \\d+\\); stop it, or use`,
        ),
      ) as string,
    });
    const waiting = openStore({ ...options, timeoutMs: 5000 });
    await first.close();
    const third = await waiting;
    await third.append("t", [taskCreatedEntry("t")], durable);
    await server.restart();
    await expect
      .poll(() => third.append("t", [warningEntry("t", 1)], durable).then(() => "stored", String))
      .toBe("stored");
    await expect(openStore(options)).rejects.toMatchObject({ code: "store_locked" });
    await third.close();
  });

  test("rejects writes of a process that did not notice that another one took over", async () => {
    const schema = newSchema();
    let lostReason: Error | undefined;
    const onLost = (reason: Error) => (lostReason = reason);
    const stalled = await openStore({ url: server.url, schema, onLost });
    await stalled.append("t", [taskCreatedEntry("t")], durable);
    // Another process that acquires the lock increments the epoch.
    await runSql(server.url, `UPDATE ${schema}.meta SET value = '99' WHERE name = 'epoch'`);
    const rejection = { code: "store_locked" };
    await expect(stalled.append("t", [warningEntry("t", 1)], durable)).rejects.toMatchObject(
      rejection,
    );
    const second = await openStore({ url: server.url, schema });
    await second.append("t", [warningEntry("t", 1)], durable);
    await expect(stalled.append("t", [warningEntry("t", 2)], durable)).rejects.toMatchObject(
      rejection,
    );
    await expect(stalled.addGrant("s", { tool: "shell" })).rejects.toMatchObject(rejection);
    expect(await second.read("t", -1, 10)).toHaveLength(2);
    expect(lostReason).toMatchObject(rejection);
    await second.close();
    // What it has in memory may be outdated, so it must be opened again.
    await expect(stalled.append("t", [warningEntry("t", 2)], durable)).rejects.toMatchObject(
      rejection,
    );
    await stalled.close();
  });

  test("cannot be moved to another schema by options in the URL", async () => {
    const schema = newSchema();
    const url = `${server.url}?options=-c%20search_path%3Dpublic%20-c%20statement_timeout%3D5000`;
    const store = await open(schema, url);
    await store.append("t", [taskCreatedEntry("t")], durable);
    expect(await (await open(schema)).listUnfinished()).toEqual(["t"]);
  });

  test("removes ended tasks until its content is below the limit, with fractions of days", async () => {
    const schema = newSchema();
    const limits = { maxMb: 1, retentionDays: 0.041_666_7, deletedDays: 0.5 };
    const store = await openStore({ url: server.url, schema, exclusive: false, ...limits });
    onTestFinished(() => store.close());
    for (const id of ["a", "b", "c", "d"])
      await store.append(
        id,
        [taskCreatedEntry(id), warningEntry(id, 1, "x".repeat(500_000)), taskCompletedEntry(id, 2)],
        durable,
      );
    await store.append("running", [taskCreatedEntry("running")], durable);
    expect(await store.prune(Date.now())).toMatchObject({ tasks: 2 });
    const tasks = await store.listTasks({ owner: "", limit: 10 });
    expect(tasks.map(({ task_id }) => task_id)).toEqual(["running", "d", "c"]);
    expect(await store.prune(Date.now())).toMatchObject({ tasks: 0 });
  });

  test("rejects only the task that uses the sub-task id of another one in the same transaction", async () => {
    const store = await open(newSchema());
    const child = (root: string) =>
      taskCreatedEntry("child", 1, { root_task_id: root, parent_task_id: root, depth: 1 });
    const appends = ["a", "b"].map((id) =>
      store.append(id, [taskCreatedEntry(id), child(id)], durable),
    );
    const results = await Promise.allSettled(appends);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(await store.findRootTask("child")).toBe("a");
    expect(await store.findRootTask("b")).toBeUndefined();
  });

  test("can be read while another process writes", async () => {
    const schema = newSchema();
    const writer = await openStore({ url: server.url, schema });
    await writer.append("t", [taskCreatedEntry("t")], durable);
    const reader = await openStore({ url: server.url, schema, readOnly: true });
    expect(await reader.listUnfinished()).toEqual(["t"]);
    await expect(reader.append("t", [warningEntry("t", 1)], durable)).rejects.toMatchObject({
      message: expect.stringContaining("is read-only"),
    });
    await writer.append("t", [warningEntry("t", 1)], durable);
    expect(await reader.read("t", -1, 10)).toHaveLength(2);
    await reader.close();
    await writer.close();
  });

  test("stores characters that PostgreSQL cannot represent", async () => {
    const store = await open(newSchema());
    const builder = new ChatBuilder(store);
    const chat = { ...builder.build("zero \0"), tags: ["a\0b"] };
    await store.createChats([{ chat }]);
    const placeholder = { placeholder: "{{KEY_1_x}}", value: `\0${"é".repeat(8000)}`, kind: "key" };
    await store.addPlaceholders(chat.chat_id, [placeholder]);
    await store.addGrant("s\0", { tool: "t\0" });
    expect(await store.listTags("")).toEqual([{ tag: "a\0b", chats: 1 }]);
    expect(await store.listPlaceholders(chat.chat_id)).toEqual([placeholder]);
    expect(await store.listGrants("s\0")).toEqual([{ tool: "t\0" }]);
    expect((await store.getChat(chat.chat_id))?.chat).toEqual(chat);
  });

  test.each([
    [
      "an unknown database",
      (url: string) => url.replace(/postgres$/, "nothing"),
      /"nothing" does not exist/,
    ],
    ["a closed port", () => "postgres://me:geheim@127.0.0.1:9/db", /ECONNREFUSED/],
    ["an unknown host", () => "postgres://me:geheim@nowhere.invalid/db", /nowhere\.invalid/],
  ])("%s is reported without the password", async (_case, url, reason) => {
    const opened = openStore({ url: url(server.url), timeoutMs: 2000 });
    await expect(opened).rejects.toMatchObject({
      code: "store_unreachable",
      message: expect.stringMatching(reason),
    });
    await expect(opened).rejects.toMatchObject({ message: expect.not.stringContaining("geheim") });
  });

  test("a missing or wrong password is reported, and the process can exit", async () => {
    const locked = await startPostgres({ password: "geheim" });
    onTestFinished(() => locked.stop());
    const withPassword = (password: string) => locked.url.replace("@", `:${password}@`);
    for (const [url, advice] of [
      [locked.url, /add the password to the URL/],
      [withPassword("falsch"), /correct the user or password/],
    ] as const) {
      const opened = openStore({ url });
      await expect(opened).rejects.toMatchObject({
        code: "store_unreachable",
        message: expect.stringMatching(advice),
      });
      // An open socket would keep a command from exiting.
      await expect.poll(listSockets, { timeout: 3000 }).toEqual([]);
    }
    const store = await openStore({ url: withPassword("geheim") });
    await store.append("t", [taskCreatedEntry("t")], durable);
    await store.close();
  });

  test("a database of a later release is not changed", async () => {
    const schema = newSchema();
    await open(schema);
    await runSql(
      server.url,
      `UPDATE ${schema}.schema_version SET version = 99, compatible_from = 99`,
    );
    await expect(openStore({ url: server.url, schema })).rejects.toMatchObject({
      code: "store_newer",
      message: expect.stringContaining("update Deltawire"),
    });
  });

  test("an invalid schema name is rejected", async () => {
    const opened = openStore({ url: server.url, schema: 'a"; DROP SCHEMA public; --' });
    await expect(opened).rejects.toMatchObject({ code: "store_unreachable" });
  });
});

async function runSql(url: string, sql: string): Promise<void> {
  const client = await connectToPostgres(url);
  await client.query(sql);
  await client.end();
}

function listSockets(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap");
}
