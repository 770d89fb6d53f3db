import { expect, test } from "vitest";
import type { UpstreamConfig } from "../src/config/config.ts";
import { ModelDiscovery } from "../src/models/model-discovery.ts";
import { createUpstream } from "./models-config.ts";

const minute = 60_000;

/** Creates a discovery whose fetches are resolved by the test. */
function discoveryFixture(...upstreams: UpstreamConfig[]) {
  let time = 0;
  const listRequests: {
    name: string;
    respond: (body: unknown) => void;
    fail: (cause: Error) => void;
  }[] = [];
  const failures: string[] = [];
  const discovery = new ModelDiscovery({
    upstreams,
    now: () => time,
    fetchList: ({ name }) =>
      new Promise((respond, fail) => {
        listRequests.push({ name, respond, fail });
      }),
    onFailure: ({ name }, cause) => failures.push(`${name}: ${String(cause)}`),
  });
  return {
    discovery,
    listRequests,
    failures,
    advanceTime: (ms: number) => {
      time += ms;
    },
    /** Takes a snapshot and flushes settled promises. */
    takeSnapshot: async () => {
      const snapshot = discovery.getModels();
      await new Promise((resolve) => setImmediate(resolve));
      return Object.fromEntries(
        [...snapshot].map(([name, models]) => [name, models.map(({ id }) => id)]),
      );
    },
  };
}

const createList = (...ids: string[]) => ({ data: ids.map((id) => ({ id })) });

test("a snapshot never waits: it is empty at first and later has the list", async () => {
  const { listRequests, takeSnapshot } = discoveryFixture(createUpstream("zai"));
  expect(await takeSnapshot()).toEqual({});
  listRequests[0]?.respond(createList("glm-4.6"));
  await takeSnapshot();
  expect(await takeSnapshot()).toEqual({ zai: ["glm-4.6"] });
});

test("no list is fetched for an upstream with configured models", async () => {
  const { listRequests, takeSnapshot } = discoveryFixture(
    createUpstream("zai", ["glm-4.6"]),
    createUpstream("local"),
  );
  await takeSnapshot();
  expect(listRequests.map(({ name }) => name)).toEqual(["local"]);
});

test("there is one fetch at a time per upstream", async () => {
  const { listRequests, takeSnapshot, advanceTime } = discoveryFixture(createUpstream("zai"));
  await takeSnapshot();
  advanceTime(10 * minute);
  await takeSnapshot();
  await takeSnapshot();
  expect(listRequests).toHaveLength(1);
});

test("a list is valid for five minutes; then the old one is used while a new one is fetched", async () => {
  const { listRequests, takeSnapshot, advanceTime } = discoveryFixture(createUpstream("zai"));
  await takeSnapshot();
  listRequests[0]?.respond(createList("old"));
  await takeSnapshot();
  advanceTime(5 * minute - 1);
  await takeSnapshot();
  expect(listRequests).toHaveLength(1);
  advanceTime(1);
  expect(await takeSnapshot()).toEqual({ zai: ["old"] });
  expect(listRequests).toHaveLength(2);
  expect(await takeSnapshot()).toEqual({ zai: ["old"] });
  listRequests[1]?.respond(createList("new"));
  await takeSnapshot();
  expect(await takeSnapshot()).toEqual({ zai: ["new"] });
});

test("after a failure the last list stays, and the next fetch is half a minute later", async () => {
  const { listRequests, failures, takeSnapshot, advanceTime } = discoveryFixture(
    createUpstream("zai"),
  );
  await takeSnapshot();
  listRequests[0]?.respond(createList("old"));
  await takeSnapshot();
  advanceTime(5 * minute);
  await takeSnapshot();
  listRequests[1]?.fail(new Error("connection refused"));
  await takeSnapshot();
  advanceTime(29_999);
  expect(await takeSnapshot()).toEqual({ zai: ["old"] });
  expect(listRequests).toHaveLength(2);
  advanceTime(1);
  await takeSnapshot();
  expect(listRequests).toHaveLength(3);
  expect(failures).toEqual(["zai: Error: connection refused"]);
});

test("a response without a list is a failure", async () => {
  const { listRequests, failures, takeSnapshot } = discoveryFixture(createUpstream("zai"));
  await takeSnapshot();
  listRequests[0]?.respond({ error: { message: "unauthorized" } });
  expect(await takeSnapshot()).toEqual({});
  expect(failures).toEqual([
    "zai: Error: http://zai.test/v1/models: expected a model list, got other JSON; is base_url right?",
  ]);
});

test("a fetch that throws immediately is a failure like any other", async () => {
  let fetches = 0;
  let time = 0;
  const discovery = new ModelDiscovery({
    upstreams: [createUpstream("zai")],
    now: () => time,
    fetchList: () => {
      fetches += 1;
      throw new Error("no such address");
    },
  });
  await discovery.waitUntilReady(1_000);
  expect([...discovery.getModels()]).toEqual([]);
  expect(fetches).toBe(1);
  time = 30_000;
  await discovery.waitUntilReady(1_000);
  expect(fetches).toBe(2);
});

test("the snapshot stays the same object until a list changes", async () => {
  const { discovery, listRequests, takeSnapshot, advanceTime } = discoveryFixture(
    createUpstream("zai"),
  );
  await takeSnapshot();
  listRequests[0]?.respond(createList("glm-4.6"));
  await takeSnapshot();
  const first = discovery.getModels();
  advanceTime(5 * minute);
  await takeSnapshot();
  listRequests[1]?.respond(createList("glm-4.6"));
  await takeSnapshot();
  expect(discovery.getModels()).toBe(first);
  advanceTime(5 * minute);
  await takeSnapshot();
  listRequests[2]?.respond(createList("glm-5"));
  await takeSnapshot();
  expect(discovery.getModels()).not.toBe(first);
});

test("waiting until ready waits for all upstreams, including failures", async () => {
  const { discovery, listRequests, takeSnapshot } = discoveryFixture(
    createUpstream("zai"),
    createUpstream("local"),
  );
  const ready = discovery.waitUntilReady(60_000).then(() => "ready");
  await takeSnapshot();
  listRequests[0]?.respond(createList("glm-4.6"));
  expect(await Promise.race([ready, takeSnapshot()])).toEqual({});
  listRequests[1]?.fail(new Error("down"));
  expect(await ready).toBe("ready");
  expect([...discovery.getModels().keys()]).toEqual(["zai"]);
});

test("waiting until ready does not exceed its time limit", async () => {
  const { discovery, listRequests } = discoveryFixture(createUpstream("zai"));
  const start = performance.now();
  await discovery.waitUntilReady(20);
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(listRequests).toHaveLength(1);
});

test("waiting until ready does not wait for a newer list if there is an old one", async () => {
  const { discovery, listRequests, takeSnapshot, advanceTime } = discoveryFixture(
    createUpstream("zai"),
  );
  await takeSnapshot();
  listRequests[0]?.respond(createList("glm-4.6"));
  await takeSnapshot();
  advanceTime(5 * minute);
  await discovery.waitUntilReady(60_000);
  await takeSnapshot();
  expect(listRequests).toHaveLength(2);
});

test("waiting until ready does not wait if all models are configured", async () => {
  const { discovery } = discoveryFixture(createUpstream("zai", ["glm-4.6"]));
  await discovery.waitUntilReady(60_000);
  expect(discovery.getModels().size).toBe(0);
});
