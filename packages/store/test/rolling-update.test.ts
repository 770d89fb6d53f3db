import { openStore, type Store } from "@deltawire/store";
import type { Approval } from "@deltawire/tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  canRunPostgres,
  connectToPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { ChatBuilder } from "../contract/chat-builder.ts";
import {
  createEntry,
  durable,
  taskCompletedEntry,
  taskCreatedEntry,
  warningEntry,
} from "../contract/scenario.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { migrations, type SchemaMigration } from "../src/postgres/migrations.ts";
import { SharedLock } from "../src/postgres/shared-lock.ts";

/** What a migration of a later release may do beside this one. */
const additiveMigration: SchemaMigration = {
  sql: `
    DO $$ DECLARE name TEXT; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_column TEXT NOT NULL DEFAULT ''''', name);
        EXECUTE format('CREATE INDEX ON %I (later_column)', name);
      END LOOP;
    END $$;
    CREATE TABLE later_table (number BIGINT PRIMARY KEY);
  `,
};
const smallMigration: SchemaMigration = {
  sql: `
    ALTER TABLE chats ADD COLUMN later_column TEXT NOT NULL DEFAULT '';
    ALTER TABLE tasks ADD COLUMN later_column TEXT NOT NULL DEFAULT '';
    ALTER TABLE events ADD COLUMN later_column TEXT;
    CREATE TABLE later_table (number BIGINT PRIMARY KEY);
  `,
};
const breakingMigration: SchemaMigration = {
  breaksEarlierReleases: true,
  sql: "ALTER TABLE lessons RENAME COLUMN json TO content;",
};

/** Uses all tables of a store, so that its connections have prepared the statements. */
async function useStore(store: Store, name: string): Promise<void> {
  const processId = `process_${name}`;
  await store.renewLease(processId, 60_000);
  const hash = await store.put(new TextEncoder().encode(name), "text/plain");
  const approval: Approval = {
    approval_id: `a_${name}`,
    kind: "call",
    choices: ["approve", "deny"],
  };
  await store.append(
    name,
    [
      taskCreatedEntry(name, 0, { session_id: name }),
      createEntry(name, 1, { type: "task.approval.requested", approval }),
      warningEntry(name, 2, `/api/blobs/${hash}`),
    ],
    durable,
  );
  const [claimed] = await store.claimTasks(processId, { limit: 1, taskIds: [name] });
  if (claimed === undefined) throw new Error("the task was not claimed");
  const lease = { processId, epoch: claimed.epoch };
  await store.append(name, [warningEntry(name, 3)], { ...durable, lease });
  expect(await store.read(name, -1, 10)).toHaveLength(4);
  expect(await store.listPendingApprovals()).toHaveLength(1);
  await store.sendCommand({ id: name, rootTaskId: name, json: "{}" });
  expect(await store.listCommands(processId, { limit: 10 })).toHaveLength(1);
  await store.answerCommand(name, "{}");
  await store.saveSnapshot(name, 3, "{}");
  expect(await store.snapshot(name)).toMatchObject({ as_of: 3 });
  await store.append(name, [taskCompletedEntry(name, 4)], { ...durable, lease });
  expect(await store.listTasks({ owner: "", limit: 1 })).toMatchObject([{ task_id: name }]);
  await store.releaseLeases(processId);

  const builder = new ChatBuilder(store);
  const chat = { ...builder.build(name, "When?", `At 9. /api/blobs/${hash}`), chat_id: name };
  await store.createChats([{ chat }]);
  const created = await builder.open(name);
  const saved = await builder.saveEdit(created, { type: "tag", tags: ["trips"] });
  expect(await builder.open(name)).toEqual(saved);
  expect(await store.listChats({ owner: "", limit: 1 })).toHaveLength(1);
  expect(await store.searchChats("when", { owner: "", limit: 1 })).toHaveLength(1);
  expect((await store.listChatChanges("", created.stamp, 10)).at(-1)).toMatchObject({
    stamp: saved.stamp,
  });
  await store.addPlaceholders(name, [{ placeholder: "{{A_1}}", value: name, kind: "name" }]);

  const key = { id: name, name, owner: name, scopes: [], limits: {}, lastCharacters: "xyz" };
  const hashes = { keyHash: `key ${name}`, sessionHash: `session ${name}` };
  await store.createAccessKey({ ...key, ...hashes, createdAt: 1 });
  expect((await store.findAccessKeys([hashes.keyHash])).matches).toHaveLength(1);
  expect(await store.listAccessKeys()).toContainEqual({ ...key, createdAt: 1 });
  await store.addUsage([{ keyId: name, unit: "requests", period: "day", amount: 1 }]);
  await store.addLessons([{ upstream: name, model: "m", digest: "d", learnedAt: 1, json: "{}" }]);
  expect((await store.listLessons()).at(-1)).toMatchObject({ upstream: name });
  await store.addGrant(name, { tool: "shell" });
  await store.claimIdempotencyKey(name, "hash", name);
  expect(await store.get(hash)).toBeDefined();
  expect(await store.prune()).toEqual({ tasks: 0, blobs: 0 });
}

describe.skipIf(!canRunPostgres)("while gateways are updated one after the other", () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  const newSchema = () => `update_${(schemas += 1)}`;
  const open = async (schema: string): Promise<Store> => {
    const store = await openStore({ url: server.url, schema, exclusive: false });
    onTestFinished(() => store.close());
    return store;
  };
  /** Migrates as another release would. */
  const migrateTo = async (
    schema: string,
    steps: readonly SchemaMigration[],
    timeoutMs = 300,
  ): Promise<void> => {
    const client = await connectToPostgres(server.url);
    try {
      await client.query(`SET search_path = ${schema}`);
      await migrate(client, { schema, timeoutMs, migrations: steps });
    } finally {
      await client.end();
    }
  };

  test("this release can be used after a later one has added to the tables", async () => {
    const schema = newSchema();
    const earlier = await open(schema);
    await useStore(earlier, "before");
    await migrateTo(schema, [...migrations, additiveMigration]);
    await useStore(earlier, "after");
    const restarted = await open(schema);
    await useStore(restarted, "restarted");
    expect(await earlier.read("restarted", -1, 10)).toHaveLength(5);
  });

  test("the tables can be updated while this release is writing", async () => {
    const schema = newSchema();
    const earlier = await open(schema);
    let isMigrated = false;
    const use = async (worker: number): Promise<number> => {
      for (let round = 0; ; round += 1) {
        const id = `task_${worker}_${round}`;
        await earlier.append(id, [taskCreatedEntry(id), warningEntry(id, 1)], durable);
        const builder = new ChatBuilder(earlier);
        const chat = { ...builder.build(id, "one", "two"), chat_id: id };
        await earlier.createChats([{ chat }]);
        await builder.saveEdit(await builder.open(id), { type: "tag", tags: ["t"] });
        if (isMigrated) return round + 1;
      }
    };
    const workers = Promise.all([1, 2, 3].map(use));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await migrateTo(schema, [...migrations, smallMigration]).finally(() => (isMigrated = true));
    const rounds = (await workers).reduce((sum, count) => sum + count, 0);
    expect(await earlier.listUnfinished()).toHaveLength(rounds);
    expect((await earlier.getChatStamps()).head).toBe(2 * rounds);
  });

  test("an update is repeated after it and a writing process have waited for each other", async () => {
    const schema = newSchema();
    await (await open(schema)).close();
    const writer = await connectToPostgres(server.url);
    onTestFinished(() => writer.end());
    await writer.query(`SET search_path = ${schema}; BEGIN; LOCK TABLE events`);
    const updated = migrateTo(schema, [...migrations, smallMigration]);
    const isUpdateWaiting = async (): Promise<boolean> => {
      const { rows } = await writer.query("SELECT 1 FROM pg_locks WHERE NOT granted");
      return rows.length > 0;
    };
    await expect.poll(isUpdateWaiting).toBe(true);
    // The update holds the lock of this table, and waits for that of the other one.
    await writer.query("LOCK TABLE chats; COMMIT");
    await updated;
    const { rows } = await writer.query("SELECT version FROM schema_version");
    expect(rows).toEqual([{ version: migrations.length + 1 }]);
  });

  test("this release updates the tables of the previous one, without waiting for its gateways", async () => {
    expect(migrations.at(-1)?.breaksEarlierReleases).toBeUndefined();
    const schema = newSchema();
    await migrateTo(schema, migrations.slice(0, -1));
    const lockOptions = { url: server.url, schema, location: "the database", timeoutMs: 0 };
    const previousGateway = await SharedLock.acquire(lockOptions);
    const store = await open(schema);
    await useStore(store, "updated");
    await previousGateway.release();
  });

  test("an update that earlier releases cannot use waits until they are stopped, and says so", async () => {
    const schema = newSchema();
    const earlier = await open(schema);
    const steps = [...migrations, breakingMigration];
    await expect(migrateTo(schema, steps)).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringMatching(/earlier versions cannot use.*stop all processes/),
    });
    // Nothing has changed for the earlier release.
    await useStore(earlier, "earlier");
    const waiting = migrateTo(schema, steps, 10_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await earlier.append("late", [taskCreatedEntry("late")], durable);
    await earlier.close();
    await waiting;
    await expect(openStore({ url: server.url, schema, exclusive: false })).rejects.toMatchObject({
      code: "store_newer",
    });
  });
});
