import { join } from "node:path";
import { openStore } from "@deltawire/store";
import { type OpenForCheck, storeContract } from "@deltawire/store/contract";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./opened.ts";

const inFile: OpenForCheck = async () => {
  const path = join(temporaryFolder(), "tasks.db");
  let store = await openStore({ path, keepDays: 30 });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openStore({ path, keepDays: 30 });
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
