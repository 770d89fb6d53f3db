import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Scenarios } from "./scenario.ts";
import { completed, created, durable, entry, warning } from "./scenario.ts";

const farFuture = 100 * 365 * 86_400_000;

/** Pictures and files. */
export const blobScenarios: Scenarios = {
  "a blob is found by the SHA-256 of its bytes, small and large": async (store, reopen) => {
    const blobs = [0, 1, 1000, 65_536, 65_537, 3_000_000].map(bytesOf);
    for (const bytes of blobs) {
      const expected = createHash("sha256").update(bytes).digest("hex");
      assert.equal(await store.put(bytes, "image/png"), expected);
    }
    const again = await reopen();
    for (const bytes of blobs) {
      const found = await again.get(createHash("sha256").update(bytes).digest("hex"));
      assert.equal(found?.mediaType, "image/png");
      assert.ok(Buffer.from(bytes).equals(found.bytes), `${bytes.length} bytes come back`);
    }
    assert.equal(await again.get("0".repeat(64)), undefined);
  },

  "the same bytes are kept once, under the media type that came first": async (store) => {
    const bytes = bytesOf(200_000);
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

  "the caller may go on with its bytes": async (store) => {
    for (const size of [100, 200_000]) {
      const bytes = bytesOf(size);
      const before = Buffer.from(bytes);
      const put = store.put(bytes, "image/png");
      bytes.fill(0);
      const kept = await store.get(await put);
      assert.ok(kept !== undefined && before.equals(kept.bytes));
    }
  },

  "a name that is no hash is nobody's": async (store) => {
    for (const name of ["", "..", "../deltawire.db", "A".repeat(64)])
      assert.equal(await store.get(name), undefined);
  },

  "a blob that no task refers to goes, one that a task refers to stays": async (store) => {
    const [unused, inEvent, inPrivate, ofEnded] = await Promise.all(
      [70_001, 70_002, 3, 4].map((size) => store.put(bytesOf(size), "image/png")),
    );
    const shown = warning("t", 1, `/api/blobs/${inEvent}`);
    const hidden = entry("t", 2, { type: "task.working" }, { image: `/api/blobs/${inPrivate}` });
    await store.append("t", [created("t"), shown, hidden], durable);
    const last = [created("u"), warning("u", 1, `(/api/blobs/${ofEnded})`), completed("u", 2)];
    await store.append("u", last, durable);
    const { blobs } = await store.prune(Date.now() + farFuture);
    assert.equal(await store.get(unused ?? ""), undefined);
    assert.equal((await store.get(inEvent ?? ""))?.bytes.length, 70_002);
    assert.equal((await store.get(inPrivate ?? ""))?.bytes.length, 3);
    const isEndedGone = (await store.rootOf("u")) === undefined;
    assert.equal((await store.get(ofEnded ?? "")) === undefined, isEndedGone);
    assert.equal(blobs, isEndedGone ? 2 : 1);
  },

  "a blob that only a replaced entry referred to goes": async (store) => {
    const [gone, stays, isNew] = await Promise.all(
      [5, 6, 7].map((size) => store.put(bytesOf(size), "image/png")),
    );
    const both = warning("t", 1, `/api/blobs/${gone} /api/blobs/${stays}`);
    const hidden = entry("t", 2, { type: "task.working" }, { image: `/api/blobs/${stays}` });
    const replaced = [warning("t", 1, `/api/blobs/${isNew}`)];
    await store.append("t", [created("t"), both, hidden], { ...durable, replaced });
    await store.prune(Date.now() + farFuture);
    assert.equal(await store.get(gone ?? ""), undefined);
    assert.ok((await store.get(stays ?? "")) !== undefined);
    assert.ok((await store.get(isNew ?? "")) !== undefined);
  },

  "a blob that was just put stays, for the task that will refer to it": async (store) => {
    const hash = await store.put(bytesOf(10), "image/png");
    await store.prune(Date.now());
    assert.ok((await store.get(hash)) !== undefined);
  },

  "a blob that was removed can be put again": async (store) => {
    for (const size of [10, 100_000]) {
      const hash = await store.put(bytesOf(size), "image/png");
      await store.prune(Date.now() + farFuture);
      assert.equal(await store.get(hash), undefined);
      await store.put(bytesOf(size), "image/jpeg");
      assert.equal((await store.get(hash))?.mediaType, "image/jpeg");
    }
  },
};

function bytesOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + size) % 251);
}
