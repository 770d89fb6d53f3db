import { ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { mostBroken, Patience, usualWaits, waitsWithin } from "../src/model/model-waits.ts";
import { ended, scriptedAgent, start, until, warningsIn, type Script } from "./run-kit.ts";

const busy = (retryAfterMs?: number) =>
  new ModelError("rate_limit", "too many", { retryable: true, retryAfterMs });
const away = (error = busy()) => ({ error, isAway: true });
const broken = {
  error: new ModelError("upstream_stream_truncated", "broke off", { retryable: true }),
  isAway: false,
};

/** The waits before a model is given up that fails in the same way again and again; each try takes no time. */
function waits(failures: (nth: number) => Parameters<Patience["waitAfter"]>[0]): number[] {
  const patience = new Patience(usualWaits);
  const list: number[] = [];
  for (let now = 0; ;) {
    const wait = patience.waitAfter(failures(list.length), now);
    if (wait === undefined) return list;
    list.push(wait);
    now += wait;
  }
}

describe("a model that cannot be asked", () => {
  test("is waited for longer and longer, up to half a minute, for ten minutes in all", () => {
    const list = waits(() => away());
    expect(list.slice(0, 9)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    const all = list.reduce((sum, wait) => sum + wait, 0);
    expect(all).toBe(600_000);
  });

  test("is left alone for as long as it asks, five minutes at the most", () => {
    expect(waits((nth) => away(busy(nth === 0 ? 20_000 : undefined))).slice(0, 2)).toEqual([
      20_000, 1000,
    ]);
    expect(waits(() => away(busy(86_400_000)))).toEqual([300_000, 300_000]);
    expect(waits(() => away(busy(-5)))[0]).toBe(500);
  });

  test("that somebody waits for is asked at least every 5 s, and a last time when the time is up", () => {
    const patience = new Patience(waitsWithin(usualWaits, 30));
    const asked: number[] = [];
    // Each attempt takes 200 ms.
    for (let now = 0; ;) {
      asked.push(now);
      const wait = patience.waitAfter(away(), now + 200, now);
      if (wait === undefined) break;
      now += 200 + wait;
    }
    expect(asked).toEqual([0, 700, 1900, 4100, 8300, 13_500, 18_700, 23_900, 29_100, 30_000]);
    expect(new Patience(waitsWithin(usualWaits, 0)).waitAfter(away(), 5, 0)).toBeUndefined();
    expect(waitsWithin(usualWaits, undefined)).toBe(usualWaits);
  });

  test("that asks for more time than there is, is given up at once", () => {
    const patience = new Patience(waitsWithin(usualWaits, 30));
    expect(patience.waitAfter(away(busy(31_000)), 1, 0)).toBeUndefined();
    expect(patience.waitAfter(away(busy(20_000)), 1, 0)).toBe(20_000);
  });

  test("for reasons that stay is not waited for", () => {
    expect(waits(() => away(new ModelError("invalid_key", "no")))).toEqual([]);
  });

  test("whose tries take long is not asked for hours", () => {
    const patience = new Patience(usualWaits);
    let tries = 0;
    for (let now = 0; patience.waitAfter(away(), now) !== undefined; now += 300_000) tries += 1;
    expect(tries).toBe(2);
  });
});

describe("replies that break off", () => {
  test("are asked for again, three times in all", () => {
    expect(waits(() => broken)).toEqual([500, 1000]);
    expect(mostBroken).toBe(3);
  });

  test("are counted also when the model is away between them, and the waits for it begin anew", () => {
    const failures = [away(), away(), broken, away(), broken, away(), broken];
    expect(waits((nth) => failures[nth] ?? broken)).toEqual([500, 1000, 500, 500, 1000, 500]);
  });
});

const run = async (script: Script, modelWaits: object = {}, limits: object = {}) => {
  const { agent, model } = scriptedAgent(script, { limits });
  const started = await start(
    agent,
    {},
    { modelWaits: { firstMs: 1, longestMs: 4, inAllMs: 5000, ...modelWaits } },
  );
  return { ...(await ended(started)), model };
};

describe("a task", () => {
  test("whose model is away goes on when it is back, and tells of each wait", async () => {
    const { view, model, events } = await run([
      ...Array.from({ length: 6 }, () => [{ error: busy() }]),
      [{ text: "Back." }],
    ]);
    expect(view.status).toBe("completed");
    expect(model.asked).toHaveLength(7);
    const waited = warningsIn(events).filter(({ code }) => code === "model_asked_again");
    expect(waited).toMatchObject(
      [1, 2, 4, 4, 4, 4].map((retry_in_ms, nth) => ({
        code: "model_asked_again",
        message: "too many",
        retry_in_ms,
        attempt: nth + 1,
      })),
    );
  });

  test("whose model stays away fails with that", async () => {
    const { view, model } = await run(() => [{ error: busy() }], { inAllMs: 400 });
    expect(view.error).toEqual({ code: "rate_limit", message: "too many", retryable: true });
    expect(model.asked.length).toBeGreaterThan(mostBroken);
  });

  test("whose model breaks off again and again fails after three replies", async () => {
    const { view, model } = await run(() => [{ text: "Ha" }, { cut: true }]);
    expect(view.error?.code).toBe("upstream_stream_truncated");
    expect(model.asked).toHaveLength(3);
  });

  test("that waits is stopped by its seconds, and by a cancel", async () => {
    const long = { firstMs: 60_000, longestMs: 60_000, inAllMs: 600_000 };
    const { view } = await run(() => [{ error: busy() }], long, { seconds: 0.05 });
    expect(view.status).toBe("expired");
    const { agent } = scriptedAgent(() => [{ error: busy() }]);
    const started = await start(agent, {}, { modelWaits: long });
    await until(started, ({ head }) => head > 2);
    await started.runtime.cancel(started.id, "me");
    expect((await ended(started)).view.status).toBe("canceled");
  });
});
