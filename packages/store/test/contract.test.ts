import { join } from "node:path";
import { openStore } from "@deltawire/store";
import { type OpenForCheck, storeContract } from "@deltawire/store/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { createTemporaryFolder } from "./test-store.ts";

const inFile: OpenForCheck = async () => {
  const path = join(createTemporaryFolder(), "tasks.db");
  let store = await openStore({ path, retentionDays: 30 });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openStore({ path, retentionDays: 30 });
      return store;
    },
    close: () => store.close(),
  };
};

const inMemory: OpenForCheck = async () => {
  const store = await openStore({ path: ":memory:" });
  return { store, reopen: async () => store, close: () => store.close() };
};

describe.each([
  ["in a file", inFile],
  ["in memory", inMemory],
] as const)("a SQLite store %s", (_where, open) => {
  test.each(storeContract(open))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

describe.skipIf(!canRunPostgres)("a PostgreSQL store", () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  const inPostgres: OpenForCheck = async () => {
    const options = { url: server.url, schema: `contract_${(schemas += 1)}`, retentionDays: 30 };
    let store = await openStore(options);
    return {
      store,
      reopen: async () => {
        await store.close();
        store = await openStore(options);
        return store;
      },
      close: () => store.close(),
    };
  };
  test.each(storeContract(inPostgres))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
