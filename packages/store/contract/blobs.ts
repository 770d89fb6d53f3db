import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { StoreScenarios } from "./scenario.ts";
import {
  taskCompletedEntry,
  taskCreatedEntry,
  durable,
  createEntry,
  warningEntry,
} from "./scenario.ts";

const farFuture = 100 * 365 * 86_400_000;

/** Storing, reading and pruning blobs. */
export const blobScenarios: StoreScenarios = {
  "small and large blobs are read by the SHA-256 of their bytes": async (store, reopen) => {
    const blobs = [0, 1, 1000, 65_536, 65_537, 3_000_000].map(createBytes);
    for (const bytes of blobs) {
      const expected = createHash("sha256").update(bytes).digest("hex");
      assert.equal(await store.put(bytes, "image/png"), expected);
    }
    const reopened = await reopen();
    for (const bytes of blobs) {
      const blob = await reopened.get(createHash("sha256").update(bytes).digest("hex"));
      assert.equal(blob?.mediaType, "image/png");
      assert.ok(Buffer.from(bytes).equals(blob.bytes), `${bytes.length} bytes are read back`);
    }
    assert.equal(await reopened.get("0".repeat(64)), undefined);
  },

  "the same bytes are stored once, with the first media type": async (store) => {
    const bytes = createBytes(200_000);
    const hashes = await Promise.all([
      store.put(bytes, "image/png"),
      store.put(bytes, "image/png"),
      store.put(bytes, "image/png"),
    ]);
    const size = await store.size();
    hashes.push(await store.put(bytes, "text/html"));
    assert.equal(new Set(hashes).size, 1);
    assert.ok((await store.size()) < size + 100_000);
    assert.equal((await store.get(hashes[0] ?? ""))?.mediaType, "image/png");
  },

  "the caller may change its buffer while the blob is being stored": async (store) => {
    for (const size of [100, 200_000]) {
      const bytes = createBytes(size);
      const originalBytes = Buffer.from(bytes);
      const put = store.put(bytes, "image/png");
      bytes.fill(0);
      const stored = await store.get(await put);
      assert.ok(stored !== undefined && originalBytes.equals(stored.bytes));
    }
  },

  "no blob is returned for an invalid hash": async (store) => {
    for (const name of ["", "..", "../deltawire.db", "A".repeat(64)])
      assert.equal(await store.get(name), undefined);
  },

  "an unused blob is pruned, and one in use is kept": async (store) => {
    const [unusedBlob, publicBlob, privateBlob, endedTaskBlob] = await Promise.all(
      [70_001, 70_002, 3, 4].map((size) => store.put(createBytes(size), "image/png")),
    );
    const publicEntry = warningEntry("t", 1, `/api/blobs/${publicBlob}`);
    const privateEntry = createEntry(
      "t",
      2,
      { type: "task.working" },
      { image: `/api/blobs/${privateBlob}` },
    );
    await store.append("t", [taskCreatedEntry("t"), publicEntry, privateEntry], durable);
    const endedTask = [
      taskCreatedEntry("u"),
      warningEntry("u", 1, `(/api/blobs/${endedTaskBlob})`),
      taskCompletedEntry("u", 2),
    ];
    await store.append("u", endedTask, durable);
    const { blobs } = await store.prune(Date.now() + farFuture);
    assert.equal(await store.get(unusedBlob ?? ""), undefined);
    assert.equal((await store.get(publicBlob ?? ""))?.bytes.length, 70_002);
    assert.equal((await store.get(privateBlob ?? ""))?.bytes.length, 3);
    const isEndedTaskRemoved = (await store.findRootTask("u")) === undefined;
    assert.equal((await store.get(endedTaskBlob ?? "")) === undefined, isEndedTaskRemoved);
    assert.equal(blobs, isEndedTaskRemoved ? 2 : 1);
  },

  "a blob that only a replaced entry referred to is pruned": async (store) => {
    const [unusedHash, usedHash, newHash] = await Promise.all(
      [5, 6, 7].map((size) => store.put(createBytes(size), "image/png")),
    );
    const entryWithBothBlobs = warningEntry(
      "t",
      1,
      `/api/blobs/${unusedHash} /api/blobs/${usedHash}`,
    );
    const privateEntry = createEntry(
      "t",
      2,
      { type: "task.working" },
      { image: `/api/blobs/${usedHash}` },
    );
    const replacements = [warningEntry("t", 1, `/api/blobs/${newHash}`)];
    await store.append("t", [taskCreatedEntry("t"), entryWithBothBlobs, privateEntry], {
      ...durable,
      replacements,
    });
    await store.prune(Date.now() + farFuture);
    assert.equal(await store.get(unusedHash ?? ""), undefined);
    assert.ok((await store.get(usedHash ?? "")) !== undefined);
    assert.ok((await store.get(newHash ?? "")) !== undefined);
  },

  "a new blob without references is kept for a while": async (store) => {
    const hash = await store.put(createBytes(10), "image/png");
    await store.prune(Date.now());
    assert.ok((await store.get(hash)) !== undefined);
  },

  "a removed blob can be stored again": async (store) => {
    for (const size of [10, 100_000]) {
      const hash = await store.put(createBytes(size), "image/png");
      await store.prune(Date.now() + farFuture);
      assert.equal(await store.get(hash), undefined);
      await store.put(createBytes(size), "image/jpeg");
      assert.equal((await store.get(hash))?.mediaType, "image/jpeg");
    }
  },
};

function createBytes(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, index) => (index * 31 + size) % 251);
}
