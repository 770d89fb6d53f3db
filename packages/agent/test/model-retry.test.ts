import { ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  maxTruncatedReplies,
  ModelBackoff,
  defaultRetryPolicy,
  limitRetryPolicy,
} from "../src/model/model-retry.ts";
import {
  waitForEnd,
  scriptedAgent,
  start,
  waitUntil,
  filterWarnings,
  type Script,
} from "./runtime-fixture.ts";

const busy = (retryAfterMs?: number) =>
  new ModelError("rate_limit", "too many", { retryable: true, retryAfterMs });
const createUnavailableFailure = (error = busy()) => ({ error, isUnavailable: true });
const truncatedFailure = {
  error: new ModelError("upstream_stream_truncated", "broke off", { retryable: true }),
  isUnavailable: false,
};

/** Returns the delays between attempts that all fail in the same way and take no time, until there are no more. */
function collectDelays(
  failures: (nth: number) => Parameters<ModelBackoff["nextDelay"]>[0],
): number[] {
  const backoff = new ModelBackoff(defaultRetryPolicy);
  const delays: number[] = [];
  for (let now = 0; ;) {
    const delayMs = backoff.nextDelay(failures(delays.length), now);
    if (delayMs === undefined) return delays;
    delays.push(delayMs);
    now += delayMs;
  }
}

describe("an unavailable model", () => {
  test("is retried with increasing delays of up to 30 s, for ten minutes in total", () => {
    const delays = collectDelays(() => createUnavailableFailure());
    expect(delays.slice(0, 9)).toEqual([
      500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
    ]);
    const all = delays.reduce((sum, delayMs) => sum + delayMs, 0);
    expect(all).toBe(600_000);
  });

  test("is retried no earlier than it requests, but after five minutes at most", () => {
    expect(
      collectDelays((nth) => createUnavailableFailure(busy(nth === 0 ? 20_000 : undefined))).slice(
        0,
        2,
      ),
    ).toEqual([20_000, 1000]);
    expect(collectDelays(() => createUnavailableFailure(busy(86_400_000)))).toEqual([
      300_000, 300_000,
    ]);
    expect(collectDelays(() => createUnavailableFailure(busy(-5)))[0]).toBe(500);
  });

  test("that a user waits for is retried at least every 5 s, and once more at the end of the time", () => {
    const backoff = new ModelBackoff(limitRetryPolicy(defaultRetryPolicy, 30));
    const attemptTimes: number[] = [];
    // Each attempt takes 200 ms.
    for (let now = 0; ;) {
      attemptTimes.push(now);
      const delayMs = backoff.nextDelay(createUnavailableFailure(), now + 200, now);
      if (delayMs === undefined) break;
      now += 200 + delayMs;
    }
    expect(attemptTimes).toEqual([
      0, 700, 1900, 4100, 8300, 13_500, 18_700, 23_900, 29_100, 30_000,
    ]);
    expect(
      new ModelBackoff(limitRetryPolicy(defaultRetryPolicy, 0)).nextDelay(
        createUnavailableFailure(),
        5,
        0,
      ),
    ).toBeUndefined();
    expect(limitRetryPolicy(defaultRetryPolicy, undefined)).toBe(defaultRetryPolicy);
  });

  test("that requests a longer delay than the remaining time fails immediately", () => {
    const backoff = new ModelBackoff(limitRetryPolicy(defaultRetryPolicy, 30));
    expect(backoff.nextDelay(createUnavailableFailure(busy(31_000)), 1, 0)).toBeUndefined();
    expect(backoff.nextDelay(createUnavailableFailure(busy(20_000)), 1, 0)).toBe(20_000);
  });

  test("is not retried after a permanent error", () => {
    expect(
      collectDelays(() => createUnavailableFailure(new ModelError("invalid_key", "no"))),
    ).toEqual([]);
  });

  test("is retried twice if each attempt takes five minutes", () => {
    const backoff = new ModelBackoff(defaultRetryPolicy);
    let attempts = 0;
    for (
      let now = 0;
      backoff.nextDelay(createUnavailableFailure(), now) !== undefined;
      now += 300_000
    )
      attempts += 1;
    expect(attempts).toBe(2);
  });
});

describe("incomplete replies", () => {
  test("are retried, three attempts in total", () => {
    expect(collectDelays(() => truncatedFailure)).toEqual([500, 1000]);
    expect(maxTruncatedReplies).toBe(3);
  });

  test("are counted across times without the model, after which the delays start again", () => {
    const failures = [
      createUnavailableFailure(),
      createUnavailableFailure(),
      truncatedFailure,
      createUnavailableFailure(),
      truncatedFailure,
      createUnavailableFailure(),
      truncatedFailure,
    ];
    expect(collectDelays((nth) => failures[nth] ?? truncatedFailure)).toEqual([
      500, 1000, 500, 500, 1000, 500,
    ]);
  });
});

const runTaskWithRetries = async (
  script: Script,
  retryPolicy: object = {},
  limits: object = {},
) => {
  const { agent, model } = scriptedAgent(script, { limits });
  const started = await start(
    agent,
    {},
    { modelRetryPolicy: { initialDelayMs: 1, maxDelayMs: 4, maxElapsedMs: 5000, ...retryPolicy } },
  );
  return { ...(await waitForEnd(started)), model };
};

describe("a task", () => {
  test("whose model is unavailable continues when it is back, with a warning for each delay", async () => {
    const { view, model, events } = await runTaskWithRetries([
      ...Array.from({ length: 6 }, () => [{ error: busy() }]),
      [{ text: "Back." }],
    ]);
    expect(view.status).toBe("completed");
    expect(model.requests).toHaveLength(7);
    const retryWarnings = filterWarnings(events).filter(
      ({ code }) => code === "model_retry_scheduled",
    );
    expect(retryWarnings).toMatchObject(
      [1, 2, 4, 4, 4, 4].map((retry_in_ms, nth) => ({
        code: "model_retry_scheduled",
        message: "too many",
        retry_in_ms,
        attempt: nth + 1,
      })),
    );
  });

  test("whose model stays unavailable fails with its error", async () => {
    const { view, model } = await runTaskWithRetries(() => [{ error: busy() }], {
      maxElapsedMs: 400,
    });
    expect(view.error).toEqual({ code: "rate_limit", message: "too many", retryable: true });
    expect(model.requests.length).toBeGreaterThan(maxTruncatedReplies);
  });

  test("whose model's replies are all incomplete fails after three of them", async () => {
    const { view, model } = await runTaskWithRetries(() => [{ text: "Ha" }, { cut: true }]);
    expect(view.error?.code).toBe("upstream_stream_truncated");
    expect(model.requests).toHaveLength(3);
  });

  test("that is waiting for a retry is stopped by its time limit and by a cancel", async () => {
    const slowPolicy = { initialDelayMs: 60_000, maxDelayMs: 60_000, maxElapsedMs: 600_000 };
    const { view } = await runTaskWithRetries(() => [{ error: busy() }], slowPolicy, {
      seconds: 0.05,
    });
    expect(view.status).toBe("expired");
    const { agent } = scriptedAgent(() => [{ error: busy() }]);
    const started = await start(agent, {}, { modelRetryPolicy: slowPolicy });
    await waitUntil(started, ({ head }) => head > 2);
    await started.runtime.cancel(started.id, "me");
    expect((await waitForEnd(started)).view.status).toBe("canceled");
  });
});
