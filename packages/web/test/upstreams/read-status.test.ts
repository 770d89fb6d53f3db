import { expect, test } from "vitest";
import { createStatusReader } from "../../src/upstreams/read-status.ts";
import { until } from "../node-world.ts";

/** A reader of a gateway that waits with each answer about Codex until it is told to give it. */
function openReader() {
  const asked: string[] = [];
  const waiting = new Map<string, () => void>();
  const reader = createStatusReader({
    async ask(path) {
      asked.push(path);
      if (path === "/deltawire/upstreams") return Response.json({ upstreams: [] });
      if (path.startsWith("/deltawire/lessons")) return Response.json({ lessons: [] });
      await new Promise<void>((resolve) => waiting.set(path, resolve));
      const model = new URL(path, "http://gateway").searchParams.get("model") ?? "first";
      return Response.json({ model });
    },
  });
  const answer = (path: string) => waiting.get(path)?.();
  const model = () => {
    const state = reader.state.get();
    return state.is === "ready" ? state.status.codex.model : undefined;
  };
  return { reader, asked, answer, model };
}

async function ready() {
  const opened = openReader();
  const done = opened.reader.read();
  opened.answer("/deltawire/codex");
  await done;
  opened.asked.length = 0;
  return opened;
}

test("Codex is asked about once, and again only for another model or on request", async () => {
  const { reader, asked, answer, model } = await ready();
  expect(model()).toBe("first");
  await reader.look();
  await reader.forgetLessons("lab");
  expect(asked.filter((path) => path.startsWith("/deltawire/codex"))).toEqual([]);
  const chosen = reader.chooseModel("lab/a b");
  answer("/deltawire/codex?model=lab%2Fa%20b");
  await chosen;
  expect(model()).toBe("lab/a b");
  void reader.read();
  expect(asked.at(-1)).toBe("/deltawire/codex?model=lab%2Fa%20b");
});

test("of two models that were chosen the last holds, in whatever order the gateway answers", async () => {
  const { reader, answer, model } = await ready();
  const both = [reader.chooseModel("one"), reader.chooseModel("two")];
  answer("/deltawire/codex?model=two");
  answer("/deltawire/codex?model=one");
  await Promise.all(both);
  expect(model()).toBe("two");
});

test("a look that was under way does not take the chosen model back", async () => {
  const { reader, answer, model } = await ready();
  const look = reader.look();
  const chosen = reader.chooseModel("two");
  answer("/deltawire/codex?model=two");
  await Promise.all([look, chosen]);
  expect(model()).toBe("two");
});

test("a gateway that does not tell is a failure that can be mended", async () => {
  let isDown = true;
  const reader = createStatusReader({
    async ask() {
      if (isDown) return Response.json({ error: { message: "not now" } }, { status: 503 });
      return Response.json({ upstreams: [], lessons: [], model: "first" });
    },
  });
  await reader.look();
  expect(reader.state.get()).toEqual({ is: "failed", message: "not now" });
  isDown = false;
  await reader.look();
  await until(reader.state, ({ is }) => is === "ready");
});
