import { expect, test } from "vitest";
import type { UpstreamConfig } from "../src/config/config.ts";
import { ModelDiscovery } from "../src/models/discovery.ts";
import { upstreamOf } from "./models-config.ts";

const minute = 60_000;

/** A discovery whose questions are answered by hand. */
function discoveryOf(...upstreams: UpstreamConfig[]) {
  let time = 0;
  const questions: {
    name: string;
    answer: (body: unknown) => void;
    fail: (cause: Error) => void;
  }[] = [];
  const failures: string[] = [];
  const discovery = new ModelDiscovery({
    upstreams,
    now: () => time,
    ask: ({ name }) =>
      new Promise((answer, fail) => {
        questions.push({ name, answer, fail });
      }),
    onFailure: ({ name }, cause) => failures.push(`${name}: ${String(cause)}`),
  });
  return {
    discovery,
    questions,
    failures,
    pass: (ms: number) => {
      time += ms;
    },
    /** Looks at the snapshot and lets promises that are settled go on. */
    look: async () => {
      const snapshot = discovery.snapshot();
      await new Promise((resolve) => setImmediate(resolve));
      return Object.fromEntries(
        [...snapshot].map(([name, models]) => [name, models.map(({ id }) => id)]),
      );
    },
  };
}

const listOf = (...ids: string[]) => ({ data: ids.map((id) => ({ id })) });

test("a snapshot never waits: it is empty at first and has the list when it has come", async () => {
  const { questions, look } = discoveryOf(upstreamOf("zai"));
  expect(await look()).toEqual({});
  questions[0]?.answer(listOf("glm-4.6"));
  await look();
  expect(await look()).toEqual({ zai: ["glm-4.6"] });
});

test("an upstream whose models are configured is not asked", async () => {
  const { questions, look } = discoveryOf(upstreamOf("zai", ["glm-4.6"]), upstreamOf("local"));
  await look();
  expect(questions.map(({ name }) => name)).toEqual(["local"]);
});

test("there is one question at a time for an upstream", async () => {
  const { questions, look, pass } = discoveryOf(upstreamOf("zai"));
  await look();
  pass(10 * minute);
  await look();
  await look();
  expect(questions).toHaveLength(1);
});

test("a list is good for five minutes; then the old one is used while a new one is asked for", async () => {
  const { questions, look, pass } = discoveryOf(upstreamOf("zai"));
  await look();
  questions[0]?.answer(listOf("old"));
  await look();
  pass(5 * minute - 1);
  await look();
  expect(questions).toHaveLength(1);
  pass(1);
  expect(await look()).toEqual({ zai: ["old"] });
  expect(questions).toHaveLength(2);
  expect(await look()).toEqual({ zai: ["old"] });
  questions[1]?.answer(listOf("new"));
  await look();
  expect(await look()).toEqual({ zai: ["new"] });
});

test("after a failure the last list stays, and the next question comes half a minute later", async () => {
  const { questions, failures, look, pass } = discoveryOf(upstreamOf("zai"));
  await look();
  questions[0]?.answer(listOf("old"));
  await look();
  pass(5 * minute);
  await look();
  questions[1]?.fail(new Error("connection refused"));
  await look();
  pass(29_999);
  expect(await look()).toEqual({ zai: ["old"] });
  expect(questions).toHaveLength(2);
  pass(1);
  await look();
  expect(questions).toHaveLength(3);
  expect(failures).toEqual(["zai: Error: connection refused"]);
});

test("an answer that is no list is a failure", async () => {
  const { questions, failures, look } = discoveryOf(upstreamOf("zai"));
  await look();
  questions[0]?.answer({ error: { message: "unauthorized" } });
  expect(await look()).toEqual({});
  expect(failures).toEqual([
    "zai: Error: http://zai.test/v1/models: answered JSON without a model list; is base_url right?",
  ]);
});

test("a question that throws at once is a failure like any other", async () => {
  let asked = 0;
  let time = 0;
  const discovery = new ModelDiscovery({
    upstreams: [upstreamOf("zai")],
    now: () => time,
    ask: () => {
      asked += 1;
      throw new Error("no such address");
    },
  });
  await discovery.ready(1_000);
  expect([...discovery.snapshot()]).toEqual([]);
  expect(asked).toBe(1);
  time = 30_000;
  await discovery.ready(1_000);
  expect(asked).toBe(2);
});

test("the snapshot stays the same object until something new was said", async () => {
  const { discovery, questions, look, pass } = discoveryOf(upstreamOf("zai"));
  await look();
  questions[0]?.answer(listOf("glm-4.6"));
  await look();
  const first = discovery.snapshot();
  pass(5 * minute);
  await look();
  questions[1]?.answer(listOf("glm-4.6"));
  await look();
  expect(discovery.snapshot()).toBe(first);
  pass(5 * minute);
  await look();
  questions[2]?.answer(listOf("glm-5"));
  await look();
  expect(discovery.snapshot()).not.toBe(first);
});

test("who waits for the first answers waits for all upstreams, failures included", async () => {
  const { discovery, questions, look } = discoveryOf(upstreamOf("zai"), upstreamOf("local"));
  const ready = discovery.ready(60_000).then(() => "ready");
  await look();
  questions[0]?.answer(listOf("glm-4.6"));
  expect(await Promise.race([ready, look()])).toEqual({});
  questions[1]?.fail(new Error("down"));
  expect(await ready).toBe("ready");
  expect([...discovery.snapshot().keys()]).toEqual(["zai"]);
});

test("who waits does not wait longer than said", async () => {
  const { discovery, questions } = discoveryOf(upstreamOf("zai"));
  const start = performance.now();
  await discovery.ready(20);
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(questions).toHaveLength(1);
});

test("nobody waits for a newer list while there is an old one", async () => {
  const { discovery, questions, look, pass } = discoveryOf(upstreamOf("zai"));
  await look();
  questions[0]?.answer(listOf("glm-4.6"));
  await look();
  pass(5 * minute);
  await discovery.ready(60_000);
  await look();
  expect(questions).toHaveLength(2);
});

test("nothing is waited for when every model is configured", async () => {
  const { discovery } = discoveryOf(upstreamOf("zai", ["glm-4.6"]));
  await discovery.ready(60_000);
  expect(discovery.snapshot().size).toBe(0);
});
