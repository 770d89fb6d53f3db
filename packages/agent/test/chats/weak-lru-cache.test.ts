import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { weakOnlyLimits, WeakLruCache } from "../../src/chats/weak-lru-cache.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Value {
  weight: number;
  pinned: boolean;
}

const limits = {
  maxEntries: 3,
  maxWeight: 100,
  getWeight: ({ weight }: Value) => weight,
  isPinned: ({ pinned }: Value) => pinned,
};

/** Collects garbage in a later turn of the event loop, because values that this turn has read are not collected in it. */
async function collectGarbageLater(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  collectGarbage();
}

function createFilledCache(
  keys: readonly string[],
  value: Partial<Value> = {},
): WeakLruCache<Value> {
  const values = new WeakLruCache<Value>(limits);
  for (const key of keys) values.set(key, { weight: 1, pinned: false, ...value });
  return values;
}

test("the most recently used values are retained, up to the maximum number", async () => {
  const values = createFilledCache(["a", "b", "c"]);
  values.get("a");
  values.set("d", { weight: 1, pinned: false });
  expect(values.size).toBe(3);
  await collectGarbageLater();
  expect(["a", "b", "c", "d"].filter((key) => values.get(key))).toEqual(["a", "c", "d"]);
});

test("values are retained up to the maximum weight, and the latest one even above it", async () => {
  const values = createFilledCache(["a", "b"], { weight: 40 });
  values.set("c", { weight: 500, pinned: false });
  await collectGarbageLater();
  expect(["a", "b", "c"].filter((key) => values.get(key))).toEqual(["c"]);
});

test("an evicted value is found while it is referenced elsewhere", async () => {
  const values = new WeakLruCache<Value>(limits);
  const inUse = { weight: 1, pinned: false };
  values.set("in use", inUse);
  for (const key of ["a", "b", "c"]) values.set(key, { weight: 1, pinned: false });
  await collectGarbageLater();
  expect(values.get("in use")).toBe(inUse);
  const onlyUsed = new WeakLruCache<object>(weakOnlyLimits);
  onlyUsed.set("in use", inUse);
  onlyUsed.set("not in use", {});
  await collectGarbageLater();
  expect(onlyUsed.get("in use")).toBe(inUse);
  expect(onlyUsed.get("not in use")).toBeUndefined();
  expect(onlyUsed.size).toBe(0);
});

test("a pinned value is retained beyond the limits", async () => {
  const values = createFilledCache(["a", "b", "c", "d", "e"], { pinned: true });
  await collectGarbageLater();
  expect(["a", "b", "c", "d", "e"].filter((key) => values.get(key))).toHaveLength(5);
});
