import { describe, expect, test } from "vitest";
import { CircuitBreaker } from "../src/upstream/circuit-breaker.ts";
import { GatewayError } from "../src/gateway-error.ts";
import { RequestSource } from "../src/upstream/request-source.ts";
import {
  ConversationRetries,
  RetryBudget,
  parseRetryAfterHeader,
  computeRetryDelay,
} from "../src/upstream/retry.ts";
import { UpstreamHealth } from "../src/upstream/upstream-health.ts";

describe("a request is retried", () => {
  test("only after temporary failures", () => {
    const isRetried = (status: number) => computeRetryDelay({ status }, 1, 2, 0) !== undefined;
    expect([0, 408, 429, 500, 502, 503].filter(isRetried)).toEqual([0, 408, 429, 500, 502, 503]);
    expect([400, 401, 403, 404, 413, 422].filter(isRetried)).toEqual([]);
  });

  test("immediately after a broken connection, then with exponential backoff and jitter", () => {
    expect(computeRetryDelay({ status: 0 }, 1, 3, 0.5)).toBe(0);
    expect(computeRetryDelay({ status: 500 }, 1, 3, 0)).toBe(125);
    expect(computeRetryDelay({ status: 500 }, 1, 3, 1)).toBe(375);
    expect(computeRetryDelay({ status: 500 }, 3, 3, 0)).toBe(500);
  });

  test("as often as the upstream's setting allows", () => {
    expect(computeRetryDelay({ status: 500 }, 2, 2, 0)).toBeDefined();
    expect(computeRetryDelay({ status: 500 }, 3, 2, 0)).toBeUndefined();
    expect(computeRetryDelay({ status: 500 }, 1, 0, 0)).toBeUndefined();
  });

  test("after retry-after, unless that is too long for the client to wait", () => {
    expect(computeRetryDelay({ status: 429, retryAfter: 2 }, 1, 2, 0)).toBe(2000);
    expect(computeRetryDelay({ status: 429, retryAfter: 60 }, 1, 2, 0)).toBeUndefined();
  });

  test("within the budget: a fifth of the requests, and a few at the start", () => {
    const budget = new RetryBudget();
    let count = 0;
    while (budget.takeRetry()) count += 1;
    expect(count).toBe(RetryBudget.maxTokens);
    for (let request = 0; request < 5; request += 1) budget.recordRequest();
    expect([budget.takeRetry(), budget.takeRetry()]).toEqual([true, false]);
  });
});

test("Retry-After is parsed in seconds and as a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(parseRetryAfterHeader("3", now)).toBe(3);
  expect(parseRetryAfterHeader("Thu, 01 Jan 2026 00:00:10 GMT", now)).toBe(10);
  expect(parseRetryAfterHeader("Thu, 01 Jan 2020 00:00:10 GMT", now)).toBe(0);
  expect(parseRetryAfterHeader("soon", now)).toBeUndefined();
  expect(parseRetryAfterHeader("-3", now)).toBeUndefined();
  expect(parseRetryAfterHeader(undefined, now)).toBeUndefined();
});

describe("the retries of a conversation", () => {
  const { maxRetries, refillMs, maxConversations } = ConversationRetries;
  const createSource = (text: string, client = "a") => new RequestSource(client, { input: text });
  const takeAll = (retries: ConversationRetries, source: RequestSource, now: number): number => {
    let count = 0;
    while (retries.takeRetry(source, now)) count += 1;
    return count;
  };

  test("are limited, return with time, and are all restored by a success", () => {
    const retries = new ConversationRetries();
    expect(takeAll(retries, createSource("x"), 0)).toBe(maxRetries);
    expect(takeAll(retries, createSource("x"), refillMs - 1)).toBe(0);
    expect(takeAll(retries, createSource("x"), refillMs)).toBe(1);
    expect(takeAll(retries, createSource("x"), 100 * refillMs)).toBe(maxRetries);
    retries.reset(createSource("x"));
    expect(takeAll(retries, createSource("x"), 100 * refillMs)).toBe(maxRetries);
  });

  test("are not used up by other conversations or clients", () => {
    const retries = new ConversationRetries();
    takeAll(retries, createSource("x"), 0);
    expect(takeAll(retries, createSource("y"), 0)).toBe(maxRetries);
    expect(takeAll(retries, createSource("x", "b"), 0)).toBe(maxRetries);
  });

  test("less than double the requests of a client that retries for two minutes", () => {
    const retries = new ConversationRetries();
    let requests = 0;
    let clientRequests = 0;
    for (let now = 0; now < 120_000; now += 6_000) {
      clientRequests += 1;
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        requests += 1;
        if (attempt === 3 || !retries.takeRetry(createSource("x"), now)) break;
      }
    }
    expect({ clientRequests, requests }).toEqual({ clientRequests: 20, requests: 27 }); // 60 without the limit
  });

  test("are stored for a limited number of conversations", () => {
    const retries = new ConversationRetries();
    for (let index = 0; index < maxConversations + 50; index += 1)
      retries.takeRetry(createSource(`${index}`), 0);
    expect(retries.size).toBe(maxConversations);
  });
});

describe("a conversation is recognized", () => {
  const messages = ["system", "user", "assistant", "user"].map((role, index) => ({
    role,
    content: `message ${index}`,
  }));
  const conversation = (request: object) => new RequestSource("", request).conversationHash;

  test("when it is repeated or continued", () => {
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

describe("a circuit breaker", () => {
  const source = (client = "a", text = "x") => new RequestSource(client, { input: text });
  const request = source();
  const broken = (): CircuitBreaker => {
    const circuit = new CircuitBreaker();
    for (let failure = 0; failure < 5; failure += 1) circuit.recordFailure(request, 0);
    return circuit;
  };

  test("opens after five failures in a row, not after four and a success", () => {
    const circuit = new CircuitBreaker();
    for (let failure = 0; failure < 4; failure += 1) circuit.recordFailure(request, 0);
    circuit.recordSuccess();
    circuit.recordFailure(request, 0);
    expect(circuit.state).toBe("closed");
    expect(broken().getWaitMs(request, 1000)).toBe(4000);
  });

  test("lets one trial request through after the pause, but no second one at the same time", () => {
    const circuit = broken();
    expect(circuit.getWaitMs(request, 5000)).toBeUndefined();
    circuit.beginRequest(request, 5000);
    expect(circuit.getWaitMs(request, 5001)).toBeGreaterThan(0);
  });

  test("closes when the trial succeeds, as soon as its first byte arrives", () => {
    for (const end of ["recordSuccess", "recordFirstByte"] as const) {
      const circuit = broken();
      circuit.beginRequest(request, 5000);
      circuit[end](request);
      expect(circuit.getWaitMs(request, 5001)).toBeUndefined();
    }
  });

  test("is not closed by the first byte of another request", () => {
    const circuit = broken();
    circuit.beginRequest(request, 5000);
    circuit.recordFirstByte(source());
    circuit.recordInconclusive(source(), 5000);
    expect(circuit.state).toBe("half_open");
  });

  test("stays open twice as long if the trial fails, up to a minute", () => {
    const circuit = broken();
    let now = 5000;
    const waits: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      expect(circuit.getWaitMs(request, now)).toBeUndefined();
      circuit.beginRequest(request, now);
      circuit.recordFailure(request, now);
      const wait = circuit.getWaitMs(request, now) ?? 0;
      waits.push(wait);
      now += wait;
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("does not wait forever for a trial whose client has disconnected", () => {
    const circuit = broken();
    circuit.beginRequest(request, 5000);
    circuit.recordInconclusive(request, 5000);
    expect(circuit.getWaitMs(request, 5001)).toBeUndefined();
  });

  test("waits at most ten seconds for the first byte of the trial", () => {
    const circuit = broken();
    circuit.beginRequest(request, 5000);
    expect(circuit.getWaitMs(source(), 14_999)).toBe(1);
    expect(circuit.getWaitMs(source(), 15_000)).toBeUndefined();
  });

  test("is not extended by requests sent before it opened", () => {
    const circuit = broken();
    circuit.recordFailure(request, 100);
    expect(circuit.getWaitMs(request, 1000)).toBe(4000);
  });

  test("pauses only the conversation that causes all failures", () => {
    const circuit = broken();
    expect(circuit.getWaitMs(source("a", "y"), 1000)).toBeUndefined();
    expect(circuit.getWaitMs(source("b", "x"), 1000)).toBeUndefined();
  });

  test("pauses only the client whose conversations fail", () => {
    const circuit = new CircuitBreaker();
    for (let index = 0; index < 5; index += 1) circuit.recordFailure(source("a", `${index}`), 0);
    expect(circuit.getWaitMs(source("a", "another"), 1000)).toBe(4000);
    expect(circuit.getWaitMs(source("b"), 1000)).toBeUndefined();
  });

  test("pauses all clients when requests of two clients fail, even if the second fails later", () => {
    const circuit = broken();
    circuit.recordFailure(source("b"), 1000);
    expect(circuit.getWaitMs(source("c"), 1000)).toBe(4000);
  });

  test("that paused one client is not opened again after the pause by a single failure of another", () => {
    const circuit = broken();
    const hour = 3_600_000;
    const other = source("b");
    circuit.beginRequest(other, hour);
    circuit.recordFailure(other, hour);
    expect(circuit.getWaitMs(other, hour)).toBeUndefined();
    expect(circuit.getWaitMs(source("c"), hour)).toBeUndefined();
    for (let failure = 0; failure < 4; failure += 1) circuit.recordFailure(other, hour);
    expect(circuit.getWaitMs(other, hour)).toBe(5000);
    expect(circuit.getWaitMs(source("c"), hour)).toBeUndefined();
  });
});

describe("an upstream", () => {
  const source = (client: string) => new RequestSource(client, { input: client });
  const failed = (health: UpstreamHealth, scope: "address" | "model", model: string): void => {
    for (const client of ["a", "b", "c", "d", "e"])
      health.recordFailure({ scope, model, error: undefined }, source(client), 0);
  };

  test("serves its other models if one fails", () => {
    const health = new UpstreamHealth();
    failed(health, "model", "broken");
    expect(health.findPause("broken", source("x"), 0)).toMatchObject({
      scope: "model",
      waitMs: 5000,
    });
    expect(health.findPause("fine", source("x"), 0)).toBeUndefined();
    expect(health.listPausedModels(4999).map(({ model }) => model)).toEqual(["broken"]);
    expect(health.listPausedModels(5000)).toEqual([]);
  });

  test("that cannot be reached is paused with all models, and one request is let through as a trial", () => {
    const health = new UpstreamHealth();
    failed(health, "address", "one");
    expect(health.findPause("two", source("x"), 0)).toMatchObject({
      scope: "address",
      waitMs: 5000,
    });
    const trial = source("x");
    health.beginRequest("two", trial, 5000);
    expect(health.findPause("one", source("y"), 5001)).toMatchObject({ scope: "address" });
    health.recordFirstByte("two", trial);
    expect(health.findPause("one", source("y"), 5001)).toBeUndefined();
  });

  test("shows the error of a request only to the client that sent it", () => {
    const health = new UpstreamHealth();
    const error = new GatewayError("upstream_error", "cannot parse: my secret plan");
    for (const client of ["a", "b", "c", "d", "e"])
      health.recordFailure({ scope: "model", model: "m", error }, source(client), 0);
    expect(health.findPause("m", source("e"), 0)).toMatchObject({ mayShowError: true });
    expect(health.findPause("m", source("x"), 0)).toMatchObject({ mayShowError: false });
  });

  test("stores a limited number of failed models", () => {
    const health = new UpstreamHealth();
    for (let index = 0; index < 1_100; index += 1) failed(health, "model", `m${index}`);
    expect(health.listPausedModels(0)).toHaveLength(1_000);
  });
});
