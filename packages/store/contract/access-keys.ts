import assert from "node:assert/strict";
import type { NewAccessKey, Store } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";

/** Access keys and what they have used. */
export const accessKeyScenarios: StoreScenarios = {
  "an access key is found by the hash of the key or of its session": async (store, reopen) => {
    assert.deepEqual(await store.findAccessKeys(["h_a"]), { matches: [], hasKeys: false });
    assert.equal(await store.createAccessKey(buildKey("a")), true);
    assert.equal(await store.createAccessKey(buildKey("b", { limits: {}, scopes: [] })), true);
    const reopened = await reopen();
    const { matches, hasKeys } = await reopened.findAccessKeys(["h_b", "unknown", "s_a"]);
    assert.equal(hasKeys, true);
    const { keyHash: _keyHash, sessionHash: _sessionHash, ...a } = buildKey("a");
    assert.deepEqual(matches.find(({ hash }) => hash === "s_a")?.key, a);
    assert.deepEqual(matches.map(({ hash }) => hash).toSorted(), ["h_b", "s_a"]);
    assert.deepEqual(await reopened.findAccessKeys([]), { matches: [], hasKeys: true });
  },

  "the name of an access key can be used again after the key was revoked": async (store) => {
    assert.equal(await store.createAccessKey(buildKey("a")), true);
    const replacement = buildKey("a2", { name: "a", createdAt: 2000 });
    assert.equal(await store.createAccessKey(replacement), false);
    assert.deepEqual(await listKeyIds(store), ["a"]);
    assert.equal(await store.revokeAccessKey("a", 1500), true);
    assert.equal(await store.createAccessKey(replacement), true);
    assert.deepEqual(await listKeyIds(store), ["a", "a2"]);
  },

  "a revoked access key keeps the time of its revocation": async (store) => {
    await store.createAccessKey(buildKey("a"));
    assert.equal(await store.revokeAccessKey("unknown", 1500), false);
    assert.equal(await store.revokeAccessKey("a", 1500), true);
    assert.equal(await store.revokeAccessKey("a", 1600), true);
    const { matches } = await store.findAccessKeys(["h_a"]);
    assert.equal(matches[0]?.key.revokedAt, 1500);
  },

  "only a revoked access key can be removed": async (store) => {
    await store.createAccessKey(buildKey("a"));
    assert.equal(await store.removeAccessKey("a"), false);
    await store.revokeAccessKey("a", 1500);
    assert.equal(await store.removeAccessKey("a"), true);
    assert.equal(await store.removeAccessKey("a"), false);
    assert.deepEqual(await store.findAccessKeys(["h_a"]), { matches: [], hasKeys: false });
  },

  "the last use of access keys is stored at most once a minute": async (store, reopen) => {
    for (const id of ["a", "b"]) await store.createAccessKey(buildKey(id));
    await store.touchAccessKeys(["a"], 100_000);
    await store.touchAccessKeys(["a", "b"], 130_000);
    assert.deepEqual(await listLastUses(await reopen()), [100_000, 130_000]);
  },

  "a later use of an access key replaces the earlier one after a minute": async (store) => {
    await store.createAccessKey(buildKey("a"));
    for (const usedAt of [100_000, 160_000, 130_000, 219_999])
      await store.touchAccessKeys(["a"], usedAt);
    assert.deepEqual(await listLastUses(store), [160_000]);
  },

  "usage is summed by key, unit and period": async (store) => {
    const requests = { keyId: "a", unit: "requests", period: "day" } as const;
    const cost = { keyId: "a", unit: "cost", period: "month" } as const;
    const other = { keyId: "b", unit: "cost", period: "month" } as const;
    const sums: Record<string, number> = {};
    let now = 0;
    for (const amounts of [
      [{ ...requests, amount: 2 }],
      [
        { ...cost, amount: 0.25 },
        { ...requests, amount: 3 },
      ],
      [
        { ...other, amount: 1 },
        { ...requests, amount: 0 },
        { ...cost, amount: 0.5 },
      ],
    ]) {
      const result = await store.addUsage(amounts);
      now = result.now;
      for (const { keyId, unit, amount } of result.totals) sums[`${keyId} ${unit}`] = amount;
    }
    assert.deepEqual(sums, { "a requests": 5, "a cost": 0.75, "b cost": 1 });
    assert.ok(Math.abs(now - Date.now()) < 60_000, "the time of the store is in milliseconds");
  },

  "each period of usage begins at its start in UTC": async (store) => {
    const periods = ["minute", "day", "month"] as const;
    const amounts = periods.map((period) => ({
      keyId: "a",
      unit: "tokens" as const,
      period,
      amount: 1,
    }));
    const { totals, now } = await store.addUsage(amounts);
    const starts = new Map(totals.map(({ period, windowStart }) => [period, windowStart]));
    const iso = new Date(now).toISOString();
    assert.equal(toIso(starts.get("minute")), `${iso.slice(0, 16)}:00.000Z`);
    assert.equal(toIso(starts.get("day")), `${iso.slice(0, 10)}T00:00:00.000Z`);
    assert.equal(toIso(starts.get("month")), `${iso.slice(0, 7)}-01T00:00:00.000Z`);
  },

  "usage that several writers add at once is not lost": async (store) => {
    const add = () => store.addUsage(["x", "y"].map((keyId) => ({ ...tokensPerDay, keyId })));
    await Promise.all(Array.from({ length: 40 }, add));
    const { totals } = await store.addUsage([{ ...tokensPerDay, keyId: "x", amount: 0 }]);
    assert.equal(totals[0]?.amount, 40);
  },
};

const tokensPerDay = { unit: "tokens", period: "day", amount: 1 } as const;

function buildKey(id: string, overrides: Partial<NewAccessKey> = {}): NewAccessKey {
  return {
    id,
    name: id,
    owner: `owner of ${id}`,
    scopes: ["models", "chats"],
    lastCharacters: "Zz09",
    limits: { requestsPerMinute: 60, costPerMonth: 12.5 },
    createdAt: 1000,
    expiresAt: 5000,
    keyHash: `h_${id}`,
    sessionHash: `s_${id}`,
    ...overrides,
  };
}

async function listKeyIds(store: Store): Promise<string[]> {
  return (await store.listAccessKeys()).map(({ id }) => id);
}

async function listLastUses(store: Store): Promise<(number | undefined)[]> {
  return (await store.listAccessKeys()).map(({ lastUsedAt }) => lastUsedAt);
}

function toIso(time: number | undefined): string {
  return new Date(time ?? 0).toISOString();
}
