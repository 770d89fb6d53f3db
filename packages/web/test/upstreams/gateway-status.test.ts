import { expect, test } from "vitest";
import { createGatewayStatusStore } from "../../src/upstreams/gateway-status.ts";
import { waitForCell } from "../node-environment.ts";

/** A status store of a fake gateway whose Codex replies are released by the test. */
function createTestStatusStore() {
  const requestedPaths: string[] = [];
  const waiting = new Map<string, () => void>();
  const store = createGatewayStatusStore({
    async request(path) {
      requestedPaths.push(path);
      if (path === "/deltawire/upstreams") return Response.json({ upstreams: [] });
      if (path.startsWith("/deltawire/lessons")) return Response.json({ lessons: [] });
      await new Promise<void>((resolve) => waiting.set(path, resolve));
      const { searchParams } = new URL(path, "http://gateway");
      const model = searchParams.get("model") ?? "first";
      return Response.json({ agent: searchParams.get("agent") ?? "codex", model });
    },
  });
  const release = (path: string) => waiting.get(path)?.();
  const model = () => {
    const state = store.state.get();
    return state.status === "ready" ? state.report.connection.model : undefined;
  };
  return { store, requestedPaths, release, model };
}

async function openReadyStore() {
  const opened = createTestStatusStore();
  const done = opened.store.reload();
  opened.release("/deltawire/connect");
  await done;
  opened.requestedPaths.length = 0;
  return opened;
}

test("the settings of an agent are loaded once, and again only for another choice or on request", async () => {
  const { store, requestedPaths, release, model } = await openReadyStore();
  expect(model()).toBe("first");
  await store.refresh();
  await store.deleteLessons("lab");
  expect(requestedPaths.filter((path) => path.startsWith("/deltawire/connect"))).toEqual([]);
  const chosen = store.chooseConnection({ agent: "claude", model: "lab/a b" });
  release("/deltawire/connect?agent=claude&model=lab%2Fa%20b");
  await chosen;
  expect(model()).toBe("lab/a b");
  void store.reload();
  expect(requestedPaths.at(-1)).toBe("/deltawire/connect?agent=claude&model=lab%2Fa%20b");
});

test("the last chosen model wins, in whatever order the replies arrive", async () => {
  const { store, release, model } = await openReadyStore();
  const both = [
    store.chooseConnection({ agent: "codex", model: "one" }),
    store.chooseConnection({ agent: "codex", model: "two" }),
  ];
  release("/deltawire/connect?agent=codex&model=two");
  release("/deltawire/connect?agent=codex&model=one");
  await Promise.all(both);
  expect(model()).toBe("two");
});

test("a model that is chosen before the settings of the agent have arrived is that of this agent", async () => {
  const { store, requestedPaths, release, model } = await openReadyStore();
  const both = [
    store.chooseConnection({ agent: "claude" }),
    store.chooseConnection({ model: "two" }),
  ];
  expect(requestedPaths).toEqual([
    "/deltawire/connect?agent=claude&model=first",
    "/deltawire/connect?agent=claude&model=two",
  ]);
  for (const path of requestedPaths) release(path);
  await Promise.all(both);
  expect(model()).toBe("two");
  void store.chooseConnection({ model: "three" });
  expect(requestedPaths.at(-1)).toBe("/deltawire/connect?agent=claude&model=three");
});

test("a running refresh does not revert the chosen model", async () => {
  const { store, release, model } = await openReadyStore();
  const refreshing = store.refresh();
  const chosen = store.chooseConnection({ agent: "codex", model: "two" });
  release("/deltawire/connect?agent=codex&model=two");
  await Promise.all([refreshing, chosen]);
  expect(model()).toBe("two");
});

test("a failed request is reported and can be retried", async () => {
  let isDown = true;
  const store = createGatewayStatusStore({
    async request() {
      if (isDown) return Response.json({ error: { message: "not now" } }, { status: 503 });
      return Response.json({ upstreams: [], lessons: [], model: "first" });
    },
  });
  await store.refresh();
  expect(store.state.get()).toEqual({ status: "failed", message: "not now" });
  isDown = false;
  await store.refresh();
  await waitForCell(store.state, ({ status }) => status === "ready");
});
