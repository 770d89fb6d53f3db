import { describe, expect, test } from "vitest";
import { Circuit } from "../src/upstream/circuit.ts";
import { Problem } from "../src/problem.ts";
import { RequestSource } from "../src/upstream/request-source.ts";
import {
  ConversationRetries,
  RetryBudget,
  retryAfterSeconds,
  waitBeforeRetry,
} from "../src/upstream/retry.ts";
import { UpstreamHealth } from "../src/upstream/upstream-health.ts";

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

describe("the retries of a conversation", () => {
  const { most, refillMs, mostConversations } = ConversationRetries;
  const asked = (text: string, client = "a") => new RequestSource(client, { input: text });
  const takeAll = (retries: ConversationRetries, source: RequestSource, now: number): number => {
    let taken = 0;
    while (retries.take(source, now)) taken += 1;
    return taken;
  };

  test("are few, come back with time, and all at once with a success", () => {
    const retries = new ConversationRetries();
    expect(takeAll(retries, asked("x"), 0)).toBe(most);
    expect(takeAll(retries, asked("x"), refillMs - 1)).toBe(0);
    expect(takeAll(retries, asked("x"), refillMs)).toBe(1);
    expect(takeAll(retries, asked("x"), 100 * refillMs)).toBe(most);
    retries.succeeded(asked("x"));
    expect(takeAll(retries, asked("x"), 100 * refillMs)).toBe(most);
  });

  test("are not spent by other conversations or clients", () => {
    const retries = new ConversationRetries();
    takeAll(retries, asked("x"), 0);
    expect(takeAll(retries, asked("y"), 0)).toBe(most);
    expect(takeAll(retries, asked("x", "b"), 0)).toBe(most);
  });

  test("multiply the requests of a client that retries for two minutes by less than two", () => {
    const retries = new ConversationRetries();
    let requests = 0;
    let clientRequests = 0;
    for (let now = 0; now < 120_000; now += 6_000) {
      clientRequests += 1;
      for (let tried = 1; tried <= 3; tried += 1) {
        requests += 1;
        if (tried === 3 || !retries.take(asked("x"), now)) break;
      }
    }
    expect({ clientRequests, requests }).toEqual({ clientRequests: 20, requests: 27 }); // 60 without
  });

  test("are remembered for a limited number of conversations", () => {
    const retries = new ConversationRetries();
    for (let at = 0; at < mostConversations + 50; at += 1) retries.take(asked(`${at}`), 0);
    expect(retries.size).toBe(mostConversations);
  });
});

describe("a conversation is recognised", () => {
  const messages = ["system", "user", "assistant", "user"].map((role, at) => ({
    role,
    content: `message ${at}`,
  }));
  const conversation = (request: object) => new RequestSource("", request).conversation;

  test("when it is repeated or goes on", () => {
    const request = { model: "m", messages };
    expect(conversation({ ...request })).toBe(conversation(request));
    const longer = [...messages, { role: "assistant", content: "more" }];
    expect(conversation({ model: "m", messages: longer })).toBe(conversation(request));
  });

  test("by its model, its instructions and its first messages", () => {
    const others = [
      { model: "m", input: "a" },
      { model: "n", input: "a" },
      { model: "m", input: "b" },
      { model: "m", input: "a", instructions: "c" },
      { model: "m", input: [{ role: "user", content: [{ type: "input_text", text: "a" }] }] },
      { model: "m", input: [{ role: "user", content: [{ type: "input_text", text: "b" }] }] },
    ];
    expect(new Set(others.map(conversation)).size).toBe(others.length);
  });
});

describe("a circuit", () => {
  const source = (client = "a", text = "x") => new RequestSource(client, { input: text });
  const request = source();
  const broken = (): Circuit => {
    const circuit = new Circuit();
    for (let failure = 0; failure < 5; failure += 1) circuit.failed(request, 0);
    return circuit;
  };

  test("opens after five failures in a row, not after four and a success", () => {
    const circuit = new Circuit();
    for (let failure = 0; failure < 4; failure += 1) circuit.failed(request, 0);
    circuit.succeeded();
    circuit.failed(request, 0);
    expect(circuit.state).toBe("closed");
    expect(broken().waitMs(request, 1000)).toBe(4000);
  });

  test("lets one request through when its time is over, and no second beside it", () => {
    const circuit = broken();
    expect(circuit.waitMs(request, 5000)).toBeUndefined();
    circuit.begin(request, 5000);
    expect(circuit.waitMs(request, 5001)).toBeGreaterThan(0);
  });

  test("closes when that request succeeds, and already at its first byte", () => {
    for (const end of ["succeeded", "answering"] as const) {
      const circuit = broken();
      circuit.begin(request, 5000);
      circuit[end](request);
      expect(circuit.waitMs(request, 5001)).toBeUndefined();
    }
  });

  test("is not closed by the first byte of another request", () => {
    const circuit = broken();
    circuit.begin(request, 5000);
    circuit.answering(source());
    circuit.undecided(source(), 5000);
    expect(circuit.state).toBe("trying");
  });

  test("stays open twice as long when that request fails, up to a minute", () => {
    const circuit = broken();
    let now = 5000;
    const waits: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      expect(circuit.waitMs(request, now)).toBeUndefined();
      circuit.begin(request, now);
      circuit.failed(request, now);
      const wait = circuit.waitMs(request, now) ?? 0;
      waits.push(wait);
      now += wait;
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("does not wait for ever for a request whose client has left", () => {
    const circuit = broken();
    circuit.begin(request, 5000);
    circuit.undecided(request, 5000);
    expect(circuit.waitMs(request, 5001)).toBeUndefined();
  });

  test("waits ten seconds at most for the first byte of that request", () => {
    const circuit = broken();
    circuit.begin(request, 5000);
    expect(circuit.waitMs(source(), 14_999)).toBe(1);
    expect(circuit.waitMs(source(), 15_000)).toBeUndefined();
  });

  test("is not opened further by requests that were on their way when it opened", () => {
    const circuit = broken();
    circuit.failed(request, 100);
    expect(circuit.waitMs(request, 1000)).toBe(4000);
  });

  test("pauses only the conversation that all failures come from", () => {
    const circuit = broken();
    expect(circuit.waitMs(source("a", "y"), 1000)).toBeUndefined();
    expect(circuit.waitMs(source("b", "x"), 1000)).toBeUndefined();
  });

  test("pauses only the client whose conversations fail", () => {
    const circuit = new Circuit();
    for (let at = 0; at < 5; at += 1) circuit.failed(source("a", `${at}`), 0);
    expect(circuit.waitMs(source("a", "another"), 1000)).toBe(4000);
    expect(circuit.waitMs(source("b"), 1000)).toBeUndefined();
  });

  test("pauses everybody when the requests of two clients fail, also of one that fails later", () => {
    const circuit = broken();
    circuit.failed(source("b"), 1000);
    expect(circuit.waitMs(source("c"), 1000)).toBe(4000);
  });

  test("that paused one client is not opened again by a single failure of another, when the pause is over", () => {
    const circuit = broken();
    const hour = 3_600_000;
    const other = source("b");
    circuit.begin(other, hour);
    circuit.failed(other, hour);
    expect(circuit.waitMs(other, hour)).toBeUndefined();
    expect(circuit.waitMs(source("c"), hour)).toBeUndefined();
    for (let failure = 0; failure < 4; failure += 1) circuit.failed(other, hour);
    expect(circuit.waitMs(other, hour)).toBe(5000);
    expect(circuit.waitMs(source("c"), hour)).toBeUndefined();
  });
});

describe("an upstream", () => {
  const source = (client: string) => new RequestSource(client, { input: client });
  const failed = (health: UpstreamHealth, of: "address" | "model", model: string): void => {
    for (const client of ["a", "b", "c", "d", "e"])
      health.failed({ of, model, error: undefined }, source(client), 0);
  };

  test("of which one model fails serves its others", () => {
    const health = new UpstreamHealth();
    failed(health, "model", "broken");
    expect(health.pause("broken", source("x"), 0)).toMatchObject({ of: "model", waitMs: 5000 });
    expect(health.pause("fine", source("x"), 0)).toBeUndefined();
    expect(health.pausedModels(4999).map(({ model }) => model)).toEqual(["broken"]);
    expect(health.pausedModels(5000)).toEqual([]);
  });

  test("that cannot be reached is paused with all its models, and tried by one request", () => {
    const health = new UpstreamHealth();
    failed(health, "address", "one");
    expect(health.pause("two", source("x"), 0)).toMatchObject({ of: "address", waitMs: 5000 });
    const trial = source("x");
    health.begin("two", trial, 5000);
    expect(health.pause("one", source("y"), 5001)).toMatchObject({ of: "address" });
    health.answering("two", trial);
    expect(health.pause("one", source("y"), 5001)).toBeUndefined();
  });

  test("shows the error of a request only to the client that sent it", () => {
    const health = new UpstreamHealth();
    const error = new Problem("upstream_error", "cannot parse: my secret plan");
    for (const client of ["a", "b", "c", "d", "e"])
      health.failed({ of: "model", model: "m", error }, source(client), 0);
    expect(health.pause("m", source("e"), 0)).toMatchObject({ mayShowError: true });
    expect(health.pause("m", source("x"), 0)).toMatchObject({ mayShowError: false });
  });

  test("remembers a limited number of models that failed", () => {
    const health = new UpstreamHealth();
    for (let at = 0; at < 1_100; at += 1) failed(health, "model", `m${at}`);
    expect(health.pausedModels(0)).toHaveLength(1_000);
  });
});
