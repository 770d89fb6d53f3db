import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { heldElsewhere, RecentValues } from "../../src/chats/recent-values.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Value {
  weight: number;
  pinned: boolean;
}

const limits = {
  most: 3,
  mostWeight: 100,
  weigh: ({ weight }: Value) => weight,
  isPinned: ({ pinned }: Value) => pinned,
};

/** What has been looked up in one turn of the event loop is only collected in a later one. */
async function collected(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  collectGarbage();
}

function filled(keys: readonly string[], value: Partial<Value> = {}): RecentValues<Value> {
  const values = new RecentValues<Value>(limits);
  for (const key of keys) values.set(key, { weight: 1, pinned: false, ...value });
  return values;
}

test("the values used last are held, up to their number", async () => {
  const values = filled(["a", "b", "c"]);
  values.get("a");
  values.set("d", { weight: 1, pinned: false });
  expect(values.size).toBe(3);
  await collected();
  expect(["a", "b", "c", "d"].filter((key) => values.get(key))).toEqual(["a", "c", "d"]);
});

test("and up to their weight, but the last of all is held in any case", async () => {
  const values = filled(["a", "b"], { weight: 40 });
  values.set("c", { weight: 500, pinned: false });
  await collected();
  expect(["a", "b", "c"].filter((key) => values.get(key))).toEqual(["c"]);
});

test("a value that was dropped is found while something else holds it", async () => {
  const values = new RecentValues<Value>(limits);
  const inUse = { weight: 1, pinned: false };
  values.set("in use", inUse);
  for (const key of ["a", "b", "c"]) values.set(key, { weight: 1, pinned: false });
  await collected();
  expect(values.get("in use")).toBe(inUse);
  const onlyUsed = new RecentValues<object>(heldElsewhere);
  onlyUsed.set("in use", inUse);
  onlyUsed.set("not in use", {});
  await collected();
  expect(onlyUsed.get("in use")).toBe(inUse);
  expect(onlyUsed.get("not in use")).toBeUndefined();
  expect(onlyUsed.size).toBe(0);
});

test("a value that must not be dropped yet is held beyond the limits", async () => {
  const values = filled(["a", "b", "c", "d", "e"], { pinned: true });
  await collected();
  expect(["a", "b", "c", "d", "e"].filter((key) => values.get(key))).toHaveLength(5);
});
