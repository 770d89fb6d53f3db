import { emptyTree, type TaskTree } from "@deltawire/tasks";
import { expect, test } from "vitest";
import {
  reduceFrames,
  taskServerFixture,
  TestStream,
  type StreamFrame,
} from "./task-server-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

const words = (count: number): string[] => Array.from({ length: count }, (_, n) => `w${n} `);

/** Selects the frames of one task and its sub-agents. */
function selectFrames(frames: readonly StreamFrame[], taskId: string): StreamFrame[] {
  return frames.filter(({ event }) => event.task_id === taskId);
}

test("several tasks can share a connection, and each event's id has the positions in all of them", async () => {
  const { url, tasks } = await taskServerFixture();
  const [a, b] = [await tasks.startTask(), await tasks.startTask()];
  await a.emitText(words(3));
  const stream = new TestStream(`${url}/api/events?task=${a.id}:2&task=${b.id}`);
  await stream.waitUntil("both to be opened", ({ types }) => types.includes("task.snapshot"));
  await stream.waitUntil("the head of a", ({ lastId }) => lastId === `${a.id}:6,${b.id}:1`);
  await b.emitText(["x"]);
  await a.emitText(["y"]);
  await stream.waitUntil("both", ({ lastId }) => lastId === `${a.id}:7,${b.id}:4`);
  const opened = stream.frames.filter(({ event }) => event.type === "task.stream.opened");
  expect(opened.map(({ event }) => event)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ task_id: a.id, resumed_from: 2, head: 6 }),
      expect.objectContaining({ task_id: b.id, head: 1 }),
    ]),
  );
  expect(reduceFrames(selectFrames(stream.frames, b.id))).toEqual(b.storedTree);
  // The stream stays open as long as one of the tasks runs.
  await a.end();
  await b.emitText(["z"]);
  await stream.waitUntil("the end of a", ({ types }) => types.includes("task.completed"));
  expect(stream.ended).toBe(false);
  await b.end();
  await stream.waitUntilEnd();
  expect(stream.types.filter((type) => type === "task.completed")).toHaveLength(2);
});

test("a connection of several tasks that breaks repeatedly is resumed by its last id alone", async () => {
  const { url, tasks, streams } = await taskServerFixture();
  const all = await Promise.all(Array.from({ length: 8 }, () => tasks.startTask()));
  const address = `${url}/api/events?${all.map(({ id }) => `task=${id}:-1`).join("&")}`;
  const states = new Map<string, TaskTree>(all.map(({ id }) => [id, emptyTree]));
  let lastId: string | undefined;
  const reduceStream = (stream: TestStream): void => {
    for (const { id } of all) {
      const from = states.get(id) ?? emptyTree;
      states.set(id, reduceFrames(selectFrames(stream.frames, id), from));
    }
    lastId = stream.lastId ?? lastId;
  };
  const emitting = (async () => {
    for (let round = 0; round < 60; round += 1)
      await Promise.all(all.map((task, n) => task.emitText(words((round + n) % 4))));
    await Promise.all(all.map((task) => task.end()));
  })();
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const headers = lastId === undefined ? {} : { "last-event-id": lastId };
    const stream = new TestStream(address, { headers });
    const frameCount = 9 + attempt;
    await stream
      .waitUntil("enough text", ({ frames }) => frames.length >= frameCount)
      .catch((error: unknown) => {
        if (!stream.ended) throw error;
      });
    stream.disconnect();
    reduceStream(stream);
  }
  await emitting;
  const last = new TestStream(address, {
    headers: lastId === undefined ? {} : { "last-event-id": lastId },
  });
  await last.waitUntilEnd();
  reduceStream(last);
  for (const { id, storedTree } of all) expect(states.get(id)).toEqual(storedTree);
  await waitUntil(
    "all connections to close",
    () => streams.count === 0 && tasks.listeners.size === 0,
  );
  // The client has everything now. A 204 tells it not to reconnect.
  const replyAfterEnd = await fetch(address, { headers: { "last-event-id": lastId ?? "" } });
  expect(replyAfterEnd.status).toBe(204);
});

test("one task with many events does not delay the others", async () => {
  const { url, tasks } = await taskServerFixture();
  const [loud, quiet] = [await tasks.startTask(), await tasks.startTask()];
  await loud.emitText(words(15_000), { batch: 1000 });
  await quiet.emitText(words(3));
  const stream = new TestStream(`${url}/api/events?task=${loud.id}:-1&task=${quiet.id}:-1`);
  await stream.waitUntil("text of the quiet task", ({ frames }) =>
    frames.some(({ event }) => event.task_id === quiet.id && "delta" in event),
  );
  expect(selectFrames(stream.frames, loud.id).length).toBeLessThan(5000);
});

test("a frame that is written in chunks is not interrupted by another task's", async () => {
  const { url, tasks, store } = await taskServerFixture();
  const [a, b] = [await tasks.startTask(), await tasks.startTask()];
  await a.emitText(words(200), { batch: 100 });
  const read = store.read.bind(store);
  store.read = async (...args) => {
    await sleep(20);
    return read(...args);
  };
  const stream = new TestStream(`${url}/api/events?task=${a.id}:-1&task=${b.id}:1`);
  await stream.waitUntil("both to be opened", ({ types }) => types.length === 2);
  stream.pause();
  // The log of `a` is still being read when the text of `b` fills the connection.
  await b.emitText(["x".repeat(20_000_000)]);
  await sleep(60);
  stream.resume();
  await stream.waitUntil("both", ({ lastId }) => lastId === `${a.id}:203,${b.id}:4`);
  expect(reduceFrames(selectFrames(stream.frames, a.id))).toEqual(a.storedTree);
});

test("a keep-alive names every running task", async () => {
  const { url, tasks } = await taskServerFixture({ tickMs: 4 });
  const [a, b, c] = [await tasks.startTask(), await tasks.startTask(), await tasks.startTask()];
  await c.end();
  const stream = new TestStream(`${url}/api/events?task=${a.id}&task=${b.id}&task=${c.id}`);
  await stream.waitUntil("a heartbeat", ({ types }) => types.includes("task.heartbeat"));
  const heartbeats = stream.frames.filter(({ event }) => event.type === "task.heartbeat");
  expect(heartbeats.slice(0, 2).map(({ event }) => event.task_id)).toEqual([a.id, b.id]);
});

test("an unknown task is rejected in the stream, and the others continue", async () => {
  const { url, tasks } = await taskServerFixture();
  const task = await tasks.startTask();
  const { id } = task;
  const stream = new TestStream(`${url}/api/events?task=task_none:3&task=${id}`);
  await stream.waitUntil("the task", ({ types }) => types.includes("task.snapshot"));
  expect(selectFrames(stream.frames, "task_none")).toMatchObject([
    { event: { type: "task.stream.rejected", code: "task_not_found" } },
  ]);
  await task.end();
  await stream.waitUntilEnd();
  expect(stream.types.at(-1)).toBe("task.completed");
});

test("an invalid list of tasks is rejected by name", async () => {
  const { url, tasks } = await taskServerFixture();
  const { id } = await tasks.startTask();
  const problem = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/events${query}`, { headers });
    const { error } = (await response.json()) as { error: { code: string; param: string | null } };
    return [response.status, error.code, error.param];
  };
  expect(await problem("")).toEqual([400, "invalid_request", "task"]);
  expect(await problem(`?task=${id}:x`)).toEqual([400, "invalid_request", "task"]);
  expect(await problem(`?task=:3`)).toEqual([400, "invalid_request", "task"]);
  expect(await problem(`?task=${id}&task=${id}:3`)).toEqual([400, "invalid_request", "task"]);
  expect(await problem(`?task=${id}`, { "last-event-id": `${id}:?` })).toEqual([
    400,
    "invalid_request",
    "Last-Event-ID",
  ]);
  expect(await problem("?task=task_none&task=none")).toEqual([404, "task_not_found", null]);
  const many = Array.from({ length: 101 }, (_, n) => `task=t${n}`).join("&");
  expect(await problem(`?${many}`)).toEqual([400, "invalid_request", "task"]);
  expect(tasks.listeners.size).toBe(0);
});
