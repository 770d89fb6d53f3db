import { openStore, type AccessKey, type Store } from "@deltawire/store";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GatewayError, toErrorReply } from "../src/gateway-error.ts";
import { createAccessKey, type NewAccessKeyBody } from "../src/security/manage-access-keys.ts";
import { UsageMeter, type UsageMeterOptions } from "../src/security/usage-meter.ts";

let store: Store;
let meters: UsageMeter[] = [];

beforeEach(async () => {
  // In the middle of a minute, so that no period ends during a test.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-19T20:36:30Z") });
  store = await openStore({ path: ":memory:" });
});

afterEach(async () => {
  for (const meter of meters) meter.close();
  meters = [];
  await store.close();
  vi.useRealTimers();
});

/** One process of several that share the store. */
function connect(options: Partial<UsageMeterOptions> = {}): UsageMeter {
  const meter = new UsageMeter({
    getStore: () => store,
    getPrice: (model) => (model === "priced" ? { input: 1, output: 2 } : undefined),
    ...options,
  });
  meters.push(meter);
  return meter;
}

async function createKey(limits: NewAccessKeyBody["limits"]): Promise<AccessKey> {
  const { id } = await createAccessKey({ name: "ann", limits: limits ?? {} }, store);
  const key = (await store.listAccessKeys()).find((listed) => listed.id === id);
  if (key === undefined) throw new Error("the key is not stored");
  return key;
}

const usage = (input: number, output: number) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
});

async function catchError(work: () => unknown): Promise<GatewayError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was rejected");
}

/** Returns how many of the requests were admitted. */
async function admit(meter: UsageMeter, key: AccessKey, count: number): Promise<number> {
  const results = await Promise.allSettled(
    Array.from({ length: count }, () => meter.admitRequest(key)),
  );
  return results.filter(({ status }) => status === "fulfilled").length;
}

describe("a limit of requests", () => {
  test("admits exactly as many in one process, and then answers 429 until the next minute", async () => {
    const key = await createKey({ requests_per_minute: 20 });
    const meter = connect();
    expect(await admit(meter, key, 50)).toBe(20);
    const { status, headers, body } = toErrorReply(await catchError(() => meter.admitRequest(key)));
    expect([status, headers["retry-after"]]).toEqual([429, "30"]);
    expect(body.error).toMatchObject({
      code: "rate_limit_exceeded",
      message:
        'the access key "ann" has reached its limit of 20 requests per minute, which resets at 2026-11-19T20:37:00.000Z; try again in 30 s',
    });
    vi.setSystemTime(Date.parse("2026-11-19T20:37:00Z"));
    expect(await admit(meter, key, 50)).toBe(20);
  });

  test.each([1, 2, 7, 60, 500])(
    "of %d is exceeded by each additional process by at most a tenth, or one request",
    async (max) => {
      const key = await createKey({ requests_per_minute: max });
      const processes = [connect(), connect(), connect()];
      let admitted = 0;
      // Bursts of different sizes at all processes at the same time.
      for (const burst of [1, 3, 10, max, max])
        for (const count of await Promise.all(
          processes.map((process) => admit(process, key, burst)),
        ))
          admitted += count;
      expect(admitted).toBeGreaterThanOrEqual(max);
      expect(admitted).toBeLessThanOrEqual(max + 2 * Math.max(1, Math.ceil(max / 10)));
    },
  );

  test("holds after a restart, because the counts are stored", async () => {
    const key = await createKey({ requests_per_minute: 5 });
    const first = connect();
    expect(await admit(first, key, 3)).toBe(3);
    first.close();
    await first.flush();
    expect(await admit(connect(), key, 10)).toBe(2);
  });

  test("of one key does not count requests of another", async () => {
    const [ann, bob] = [await createKey({ requests_per_minute: 2 }), { name: "bob" }];
    await store.createAccessKey({ ...ann, ...bob, id: "bob", keyHash: "b", sessionHash: "s" });
    const meter = connect();
    expect(await admit(meter, ann, 5)).toBe(2);
    expect(await admit(meter, { ...ann, ...bob, id: "bob" }, 5)).toBe(2);
  });

  test("counts only in this process while the store cannot be reached, and that is reported once", async () => {
    const key = await createKey({ requests_per_minute: 4 });
    const failures: unknown[] = [];
    let isReachable = false;
    const meter = connect({
      getStore() {
        if (!isReachable) throw new Error("the database cannot be reached");
        return store;
      },
      onFailure: (error) => failures.push(error),
    });
    expect(await admit(meter, key, 3)).toBe(3);
    expect(await admit(meter, key, 3)).toBe(1);
    await meter.flush();
    expect(failures).toHaveLength(1);
    isReachable = true;
    await meter.flush();
    expect(await admit(connect(), key, 3)).toBe(0);
  });
});

test("a key without limits is neither counted nor delayed", async () => {
  const meter = connect({
    getStore() {
      throw new Error("must not be called");
    },
  });
  const key = await createKey({});
  expect(await admit(meter, key, 100)).toBe(100);
  meter.addModelUsage(key, "any", usage(1_000_000, 1_000_000));
  meter.assertModelAllowed(key, "any");
  expect(meter.countsTokens(key)).toBe(false);
});

describe("a limit of tokens", () => {
  test("is reached by what replies have used, in all processes, and ends with the day", async () => {
    const key = await createKey({ tokens_per_day: 1000 });
    const [first, second] = [connect(), connect()];
    expect(first.countsTokens(key)).toBe(true);
    for (const meter of [first, second]) await meter.admitRequest(key);
    first.addModelUsage(key, "any", usage(400, 200));
    second.addModelUsage(key, "any", usage(399, 0));
    second.addModelUsage(key, "any", undefined);
    for (const meter of [first, second, first, second]) await meter.flush();
    for (const meter of [first, second]) {
      await meter.admitRequest(key);
      meter.assertModelAllowed(key, "any");
    }
    second.addModelUsage(key, "any", usage(1, 0));
    for (const meter of [second, first]) await meter.flush();
    for (const meter of [first, second])
      for (const check of [
        () => meter.admitRequest(key),
        () => meter.assertModelAllowed(key, "any"),
      ])
        expect(toErrorReply(await catchError(check))).toMatchObject({
          status: 429,
          headers: { "retry-after": String((3 * 60 + 23) * 60 + 30) },
          body: {
            error: {
              code: "insufficient_quota",
              message: expect.stringContaining("its limit of 1000 tokens per day") as string,
            },
          },
        });
    vi.setSystemTime(Date.parse("2026-11-20T00:00:00Z"));
    for (const meter of [first, second]) await meter.admitRequest(key);
  });
});

describe("a budget", () => {
  test("is reached by the cost of replies, and then answers 429 until the period ends", async () => {
    const key = await createKey({ cost_per_day: 5, cost_per_month: 8 });
    const meter = connect();
    meter.addModelUsage(key, "priced", usage(1_000_000, 1_500_000)); // costs 4
    await meter.admitRequest(key);
    meter.addModelUsage(key, "priced", usage(1_000_000, 0));
    const perDay = await catchError(() => meter.admitRequest(key));
    expect(perDay.message).toContain("its budget of 5 per day, which resets at 2026-11-20");
    vi.setSystemTime(Date.parse("2026-11-20T12:00:00Z"));
    await meter.admitRequest(key);
    meter.addModelUsage(key, "priced", usage(3_000_000, 0));
    const perMonth = await catchError(() => meter.assertModelAllowed(key, "priced"));
    expect(perMonth.message).toContain("its budget of 8 per month, which resets at 2026-12-01");
    expect([perMonth.code, perMonth.retryAfter]).toEqual([
      "insufficient_quota",
      (10 * 24 + 12) * 3600,
    ]);
  });

  test("rejects models whose price is unknown, and says how to set it", async () => {
    const key = await createKey({ cost_per_month: 8 });
    const error = await catchError(() => connect().assertModelAllowed(key, "free"));
    expect([error.code, error.param]).toEqual(["invalid_request", "model"]);
    expect(error.message).toContain('the model "free" has no price; set its price in [models]');
  });
});
