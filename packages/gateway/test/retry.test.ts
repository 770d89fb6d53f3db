import { describe, expect, test } from "vitest";
import { Circuit } from "../src/relay/circuit.ts";
import { RetryBudget, retryAfterSeconds, waitBeforeRetry } from "../src/relay/retry.ts";

describe("a request is tried again", () => {
  test("only for what may be over the next time", () => {
    const tried = (status: number) => waitBeforeRetry({ status }, 1, 2, 0) !== undefined;
    expect([0, 408, 429, 500, 502, 503].filter(tried)).toEqual([0, 408, 429, 500, 502, 503]);
    expect([400, 401, 403, 404, 413, 422].filter(tried)).toEqual([]);
  });

  test("at once on a connection that broke, then with growing waits and jitter", () => {
    expect(waitBeforeRetry({ status: 0 }, 1, 3, 0.5)).toBe(0);
    expect(waitBeforeRetry({ status: 500 }, 1, 3, 0)).toBe(125);
    expect(waitBeforeRetry({ status: 500 }, 1, 3, 1)).toBe(375);
    expect(waitBeforeRetry({ status: 500 }, 3, 3, 0)).toBe(500);
  });

  test("as often as the upstream's setting says and no more", () => {
    expect(waitBeforeRetry({ status: 500 }, 2, 2, 0)).toBeDefined();
    expect(waitBeforeRetry({ status: 500 }, 3, 2, 0)).toBeUndefined();
    expect(waitBeforeRetry({ status: 500 }, 1, 0, 0)).toBeUndefined();
  });

  test("after the time that the upstream asked for, unless that is too long to keep a client waiting", () => {
    expect(waitBeforeRetry({ status: 429, retryAfter: 2 }, 1, 2, 0)).toBe(2000);
    expect(waitBeforeRetry({ status: 429, retryAfter: 60 }, 1, 2, 0)).toBeUndefined();
  });

  test("while the budget lasts: a fifth of the requests, and a few to begin with", () => {
    const budget = new RetryBudget();
    let taken = 0;
    while (budget.takeRetry()) taken += 1;
    expect(taken).toBe(RetryBudget.most);
    for (let request = 0; request < 5; request += 1) budget.request();
    expect([budget.takeRetry(), budget.takeRetry()]).toEqual([true, false]);
  });
});

test("Retry-After is read in seconds and as a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(retryAfterSeconds("3", now)).toBe(3);
  expect(retryAfterSeconds("Thu, 01 Jan 2026 00:00:10 GMT", now)).toBe(10);
  expect(retryAfterSeconds("Thu, 01 Jan 2020 00:00:10 GMT", now)).toBe(0);
  expect(retryAfterSeconds("soon", now)).toBeUndefined();
  expect(retryAfterSeconds("-3", now)).toBeUndefined();
  expect(retryAfterSeconds(undefined, now)).toBeUndefined();
});

describe("the circuit of an upstream", () => {
  const broken = (): Circuit => {
    const circuit = new Circuit();
    for (let failure = 0; failure < 5; failure += 1) circuit.failed(0);
    return circuit;
  };

  test("opens after five failures in a row, not after four and a success", () => {
    const circuit = new Circuit();
    for (let failure = 0; failure < 4; failure += 1) circuit.failed(0);
    circuit.succeeded(0);
    circuit.failed(0);
    expect(circuit.state).toBe("closed");
    expect(broken().waitMs(1000)).toBe(4000);
  });

  test("lets one request through when its time is over, and no second beside it", () => {
    const circuit = broken();
    expect(circuit.waitMs(5000)).toBeUndefined();
    circuit.begin(5000);
    expect(circuit.waitMs(5001)).toBeGreaterThan(0);
  });

  test("closes when that request succeeds", () => {
    const circuit = broken();
    circuit.begin(5000);
    circuit.succeeded(0);
    expect(circuit.waitMs(5001)).toBeUndefined();
  });

  test("stays open twice as long when it fails, up to a minute", () => {
    const circuit = broken();
    let now = 5000;
    const waits: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      expect(circuit.waitMs(now)).toBeUndefined();
      circuit.begin(now);
      circuit.failed(now);
      const wait = circuit.waitMs(now) ?? 0;
      waits.push(wait);
      now += wait;
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("does not wait for ever for a request whose client has left", () => {
    const circuit = broken();
    circuit.begin(5000);
    circuit.undecided(5000);
    expect(circuit.waitMs(5001)).toBeUndefined();
  });

  test("nor for one of which nothing is heard", () => {
    const circuit = broken();
    circuit.begin(5000);
    expect(circuit.waitMs(64_999)).toBe(1);
    expect(circuit.waitMs(65_000)).toBeUndefined();
  });

  test("is not opened further by requests that were on their way when it opened", () => {
    const circuit = broken();
    circuit.failed(100);
    expect(circuit.waitMs(1000)).toBe(4000);
  });
});
