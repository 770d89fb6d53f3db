import { openStore, StoreError, type AccessKeyStore, type Store } from "@deltawire/store";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { hashAccessKey } from "../src/security/access-key-format.ts";
import { AccessKeys, getAccessKeyState } from "../src/security/access-keys.ts";
import { findAccessKeyProblem } from "../src/security/authenticator.ts";
import {
  createAccessKey,
  removeAccessKey,
  revokeAccessKey,
} from "../src/security/manage-access-keys.ts";
import { deriveSessionValue } from "../src/security/session.ts";

const startedAt = Date.parse("2026-11-19T20:00:00Z");

let store: Store;
let now = startedAt;
/** Statements that were sent to the store. */
let statements: string[] = [];
let isReachable = true;

beforeEach(async () => {
  store = await openStore({ path: ":memory:" });
  onTestFinished(() => store.close());
  now = startedAt;
  statements = [];
  isReachable = true;
});

/** The store, as one process of several reaches it, whose clock may be wrong. */
function connect({ clockShiftMs = 0 } = {}): AccessKeys {
  const getStore = (): AccessKeyStore => {
    if (!isReachable) throw new StoreError("store_unreachable", "the database cannot be reached");
    return {
      getTime: async () => now,
      ...forward("createAccessKey"),
      ...forward("listAccessKeys"),
      ...forward("findAccessKeys"),
      ...forward("revokeAccessKey"),
      ...forward("removeAccessKey"),
      ...forward("touchAccessKeys"),
      ...forward("addUsage"),
    };
  };
  return new AccessKeys({ getStore, now: () => now + clockShiftMs });
}

function forward<Name extends keyof AccessKeyStore>(name: Name): Pick<AccessKeyStore, Name> {
  const method = store[name].bind(store) as (...args: unknown[]) => unknown;
  return {
    [name]: (...args: unknown[]) => {
      statements.push(name);
      return method(...args);
    },
  } as Pick<AccessKeyStore, Name>;
}

async function createKey(name: string, options: { expires_at?: string } = {}) {
  const { key, id } = await createAccessKey({ name, ...options }, store, now);
  return { id, token: key, hash: hashAccessKey(key) };
}

async function findState(keys: AccessKeys, hash: string): Promise<string> {
  const key = await keys.find(hash);
  return key === undefined ? "unknown" : getAccessKeyState(key, now);
}

describe("an access key is found", () => {
  test("by its hash and by that of its session, until it expires or is revoked", async () => {
    const keys = connect();
    const { token, hash } = await createKey("ann", { expires_at: "2026-11-19T21:00:00Z" });
    expect(await keys.find(hash)).toMatchObject({ name: "ann", owner: "ann" });
    expect(await findState(keys, hashAccessKey(deriveSessionValue(token)))).toBe("active");
    expect(await findState(keys, hashAccessKey(`${token}x`))).toBe("unknown");
    now = Date.parse("2026-11-19T20:59:59.999Z");
    expect(await findState(keys, hash)).toBe("active");
    now += 1;
    expect(await findState(keys, hash)).toBe("expired");
  });

  test("to be expired at the same time by processes whose clocks differ", async () => {
    const { hash } = await createKey("ann", { expires_at: "2026-11-19T20:30:00Z" });
    for (const clockShiftMs of [-3_600_000, 3_600_000]) {
      now = startedAt;
      const keys = connect({ clockShiftMs });
      await keys.refresh();
      const key = await keys.find(hash);
      if (key === undefined) throw new Error("the key was not found");
      expect(findAccessKeyProblem(key, keys.getTime())).toBeUndefined();
      now = Date.parse("2026-11-19T20:30:00Z");
      expect(findAccessKeyProblem(key, keys.getTime())).toContain("expired on 2026-11-19T20:30");
    }
  });

  test("with one statement for many requests at the same time, and none for four seconds", async () => {
    const keys = connect();
    const hashes = await Promise.all(
      ["a", "b", "c"].map(async (name) => (await createKey(name)).hash),
    );
    await Promise.all([...hashes, ...hashes, "unknown"].map(async (hash) => keys.find(hash)));
    expect(statements.filter((name) => name === "findAccessKeys")).toHaveLength(1);
    now += 3999;
    for (const hash of [...hashes, "unknown"]) await keys.find(hash);
    expect(statements).toHaveLength(1);
  });

  test("by its id, even directly after it was created", async () => {
    const keys = connect();
    const ann = await createKey("ann");
    expect(await keys.get(ann.id)).toMatchObject({ name: "ann" });
    const bob = await createKey("bob");
    expect(await keys.get(bob.id)).toMatchObject({ name: "bob" });
    statements = [];
    for (const { id } of [ann, bob]) await keys.get(id);
    expect(statements).toEqual([]);
    expect(await keys.get("key_unknown")).toBeUndefined();
  });
});

describe("a revocation by another process", () => {
  test("takes effect at the next refresh, and always within four seconds", async () => {
    const [refreshed, idle] = [connect(), connect()];
    const { hash, id } = await createKey("ann");
    for (const keys of [refreshed, idle]) {
      expect(await findState(keys, hash)).toBe("active");
      expect(await keys.get(id)).toMatchObject({ name: "ann" });
    }
    await revokeAccessKey("ann", store, now);
    await refreshed.refresh();
    expect(await findState(refreshed, hash)).toBe("revoked");
    now += 4000;
    expect(await findState(idle, hash)).toBe("revoked");
    expect(getAccessKeyState((await idle.get(id)) ?? {}, now)).toBe("revoked");
    await removeAccessKey("ann", store);
    now += 4000;
    expect(await findState(idle, hash)).toBe("unknown");
    expect(await idle.get(id)).toBeUndefined();
  });

  test("ends requests that use the key at the next refresh, and no others", async () => {
    const keys = connect();
    const ended: string[] = [];
    const [ann, bob] = [await createKey("ann"), await createKey("bob")];
    for (const { hash } of [ann, bob]) await keys.find(hash);
    keys.watch(ann.hash, () => ended.push("first of ann"));
    keys.watch(ann.hash, () => ended.push("second of ann"));
    keys.watch(ann.hash, () => ended.push("already over"))();
    keys.watch(bob.hash, () => ended.push("bob"));
    await keys.refresh();
    expect(ended).toEqual([]);
    await revokeAccessKey("ann", store, now);
    await keys.refresh();
    await keys.refresh();
    expect(ended).toEqual(["first of ann", "second of ann"]);
  });
});

test("requests that use a key end when the key expires", async () => {
  const keys = connect();
  const { hash } = await createKey("ann", { expires_at: "2026-11-19T20:00:10Z" });
  await keys.find(hash);
  let hasEnded = false;
  keys.watch(hash, () => (hasEnded = true));
  now += 9999;
  await keys.refresh();
  expect(hasEnded).toBe(false);
  now += 1;
  await keys.refresh();
  expect(hasEnded).toBe(true);
});

describe("while the store cannot be reached", () => {
  test("a key that was checked before is accepted for a minute, without waiting for the store", async () => {
    const keys = connect();
    const { hash, id } = await createKey("ann");
    await keys.find(hash);
    await keys.get(id);
    isReachable = false;
    now += 5000;
    await keys.refresh();
    expect(keys.find(hash)).toMatchObject({ name: "ann" });
    expect(await keys.get(id)).toMatchObject({ name: "ann" });
    now = startedAt + 60_001;
    await expect(Promise.resolve(keys.find(hash))).rejects.toThrow("cannot be reached");
    await expect(keys.get(id)).rejects.toThrow("cannot be reached");
    isReachable = true;
    expect(await findState(keys, hash)).toBe("active");
  });

  test("a key that was not checked before is rejected with the error of the store", async () => {
    const keys = connect();
    const { hash, id } = await createKey("ann");
    isReachable = false;
    await expect(Promise.resolve(keys.find(hash))).rejects.toThrow("cannot be reached");
    await expect(keys.get(id)).rejects.toThrow("cannot be reached");
  });

  test("streams continue for a minute", async () => {
    const keys = connect();
    const { hash } = await createKey("ann");
    await keys.find(hash);
    let hasEnded = false;
    keys.watch(hash, () => (hasEnded = true));
    isReachable = false;
    now += 60_000;
    await keys.refresh();
    expect(hasEnded).toBe(false);
    now += 1;
    await keys.refresh();
    expect(hasEnded).toBe(true);
  });
});

describe("the last use of a key", () => {
  const readLastUse = async () => (await store.listAccessKeys())[0]?.lastUsedAt;

  test("is stored at the next refresh, and then once a minute", async () => {
    const keys = connect();
    const { hash } = await createKey("ann");
    await keys.find(hash);
    expect(await readLastUse()).toBeUndefined();
    await keys.refresh();
    expect(await readLastUse()).toBe(startedAt);
    for (now += 1000; now <= startedAt + 60_000; now += 1000) {
      await keys.find(hash);
      await keys.refresh();
    }
    expect(await readLastUse()).toBe(startedAt + 60_000);
    expect(statements.filter((name) => name === "touchAccessKeys")).toHaveLength(2);
  });

  test("is stored when the gateway stops, but not for an attempt with an expired key", async () => {
    const keys = connect();
    const { hash } = await createKey("ann", { expires_at: "2026-11-19T20:00:10Z" });
    now += 5000;
    await keys.find(hash);
    await keys.flush();
    expect(await readLastUse()).toBe(startedAt + 5000);
    now += 600_000;
    expect(await findState(keys, hash)).toBe("expired");
    await keys.flush();
    expect(await readLastUse()).toBe(startedAt + 5000);
  });
});

test("keys are in use as long as the store has any, even if all are revoked", async () => {
  const keys = connect();
  expect(keys.hasKeys).toBeUndefined();
  await keys.refresh();
  expect(keys.hasKeys).toBe(false);
  await createKey("ann");
  await keys.refresh();
  expect(keys.hasKeys).toBe(true);
  await revokeAccessKey("ann", store, now);
  await keys.refresh();
  expect(keys.hasKeys).toBe(true);
  await removeAccessKey("ann", store);
  await keys.refresh();
  expect(keys.hasKeys).toBe(false);
});
