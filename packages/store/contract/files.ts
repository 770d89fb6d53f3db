import assert from "node:assert/strict";
import type { StoredFile } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";

const noLimit = Number.MAX_SAFE_INTEGER;

const createFile = (fileId: string, overrides: Partial<StoredFile> = {}): StoredFile => ({
  fileId,
  owner: "ann",
  filename: "ä\0.txt",
  purpose: "user_data",
  mediaType: "text/plain",
  size: 3,
  createdAt: 1000,
  ...overrides,
});

export const fileScenarios: StoreScenarios = {
  "a file is stored with its content, listed and deleted": async (store, reopen) => {
    const bytes = new Uint8Array([0, 1, 255]);
    const files = [createFile("f1"), createFile("f2", { purpose: "vision", expiresAt: 5000 })];
    for (const file of files) assert.equal(await store.addFile(file, bytes, noLimit), true);
    const reopened = await reopen();
    assert.deepEqual(await reopened.getFile("ann", "f2"), files[1]);
    assert.deepEqual(new Uint8Array((await reopened.getFileContent("ann", "f1")) ?? []), bytes);
    const list = async (filter: { after?: string; purpose?: string; order?: "asc" | "desc" }) =>
      (await reopened.listFiles("ann", { limit: 10, order: "asc", ...filter }))?.map(
        ({ fileId }) => fileId,
      );
    assert.deepEqual(await list({}), ["f1", "f2"]);
    assert.deepEqual(await list({ order: "desc" }), ["f2", "f1"]);
    assert.deepEqual(await list({ after: "f1" }), ["f2"]);
    assert.deepEqual(await list({ purpose: "user_data" }), ["f1"]);
    assert.equal(await list({ after: "unknown" }), undefined);
    assert.equal(await reopened.deleteExpiredFiles(6000), 1);
    assert.equal(await reopened.deleteFile("ann", "f1"), true);
    assert.equal(await reopened.deleteFile("ann", "f1"), false);
    assert.deepEqual(await list({}), []);
    assert.equal(await reopened.getFileContent("ann", "f1"), undefined);
  },

  "files are only visible to their owner, and limited in size": async (store) => {
    const bytes = new Uint8Array(3);
    assert.equal(await store.addFile(createFile("f1"), bytes, 5), true);
    assert.equal(await store.addFile(createFile("f2"), bytes, 5), false);
    assert.equal(await store.getFile("bob", "f1"), undefined);
    assert.equal(await store.getFileContent("bob", "f1"), undefined);
    assert.equal(await store.deleteFile("bob", "f1"), false);
    assert.deepEqual(await store.listFiles("bob", { limit: 10, order: "asc" }), []);
    assert.equal(await store.getFile("ann", "f2"), undefined);
  },
};
