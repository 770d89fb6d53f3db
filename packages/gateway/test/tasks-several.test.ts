import { emptyTree, type TaskTree } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { reduced, stage, Stream, type Frame } from "./task-stage.ts";
import { pause, until } from "./scene.ts";

const words = (count: number): string[] => Array.from({ length: count }, (_, n) => `w${n} `);

/** The frames of one task and all below it, out of those of several. */
function framesOf(frames: readonly Frame[], taskId: string): Frame[] {
  return frames.filter(({ event }) => event.task_id === taskId);
}

test("several tasks on one connection: each event's id says where the reader stands in all of them", async () => {
  const { url, tasks } = await stage();
  const [a, b] = [await tasks.task(), await tasks.task()];
  await a.say(words(3));
  const stream = new Stream(`${url}/api/events?task=${a.id}:2&task=${b.id}`);
  await stream.until("both to be opened", ({ types }) => types.includes("task.snapshot"));
  await stream.until("the head of a", ({ lastId }) => lastId === `${a.id}:6,${b.id}:1`);
  await b.say(["x"]);
  await a.say(["y"]);
  await stream.until("both", ({ lastId }) => lastId === `${a.id}:7,${b.id}:4`);
  const opened = stream.frames.filter(({ event }) => event.type === "task.stream.opened");
  expect(opened.map(({ event }) => event)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ task_id: a.id, resumed_from: 2, head: 6 }),
      expect.objectContaining({ task_id: b.id, head: 1 }),
    ]),
  );
  expect(reduced(framesOf(stream.frames, b.id))).toEqual(b.kept);
  // The stream stays as long as one of them does.
  await a.end();
  await b.say(["z"]);
  await stream.until("the end of a", ({ types }) => types.includes("task.completed"));
  expect(stream.ended).toBe(false);
  await b.end();
  await stream.untilEnd();
  expect(stream.types.filter((type) => type === "task.completed")).toHaveLength(2);
});

test("a connection of several that breaks again and again is resumed by its last id alone", async () => {
  const { url, tasks, streams } = await stage();
  const all = await Promise.all(Array.from({ length: 8 }, () => tasks.task()));
  const address = `${url}/api/events?${all.map(({ id }) => `task=${id}:-1`).join("&")}`;
  const states = new Map<string, TaskTree>(all.map(({ id }) => [id, emptyTree]));
  let lastId: string | undefined;
  const take = (stream: Stream): void => {
    for (const { id } of all) {
      const from = states.get(id) ?? emptyTree;
      states.set(id, reduced(framesOf(stream.frames, id), from));
    }
    lastId = stream.lastId ?? lastId;
  };
  const saying = (async () => {
    for (let round = 0; round < 60; round += 1)
      await Promise.all(all.map((task, n) => task.say(words((round + n) % 4))));
    await Promise.all(all.map((task) => task.end()));
  })();
  for (let tries = 0; tries < 60; tries += 1) {
    const headers = lastId === undefined ? {} : { "last-event-id": lastId };
    const stream = new Stream(address, { headers });
    const enough = 9 + tries;
    await stream
      .until("enough", ({ frames }) => frames.length >= enough)
      .catch((error: unknown) => {
        if (!stream.ended) throw error;
      });
    stream.leave();
    take(stream);
  }
  await saying;
  const last = new Stream(address, {
    headers: lastId === undefined ? {} : { "last-event-id": lastId },
  });
  await last.untilEnd();
  take(last);
  for (const { id, kept } of all) expect(states.get(id)).toEqual(kept);
  await until("all to be let go", () => streams.count === 0 && tasks.listeners.size === 0);
  // Now it has everything, and there is nothing to come back for.
  const over = await fetch(address, { headers: { "last-event-id": lastId ?? "" } });
  expect(over.status).toBe(204);
});

test("one task that says very much does not keep the others from being heard", async () => {
  const { url, tasks } = await stage();
  const [loud, quiet] = [await tasks.task(), await tasks.task()];
  await loud.say(words(15_000), { batch: 1000 });
  await quiet.say(words(3));
  const stream = new Stream(`${url}/api/events?task=${loud.id}:-1&task=${quiet.id}:-1`);
  await stream.until("the head of the quiet one", ({ frames }) =>
    frames.some(({ event }) => event.task_id === quiet.id && "delta" in event),
  );
  expect(framesOf(stream.frames, loud.id).length).toBeLessThan(5000);
});

test("a frame that goes out in pieces is not cut into by another task's", async () => {
  const { url, tasks, store } = await stage();
  const [a, b] = [await tasks.task(), await tasks.task()];
  await a.say(words(200), { batch: 100 });
  const read = store.read.bind(store);
  store.read = async (...asked) => {
    await pause(20);
    return read(...asked);
  };
  const stream = new Stream(`${url}/api/events?task=${a.id}:-1&task=${b.id}:1`);
  await stream.until("both to be opened", ({ types }) => types.length === 2);
  stream.pause();
  // Its own log is being read while the other's words fill the connection.
  await b.say(["x".repeat(20_000_000)]);
  await pause(60);
  stream.resume();
  await stream.until("both", ({ lastId }) => lastId === `${a.id}:203,${b.id}:4`);
  expect(reduced(framesOf(stream.frames, a.id))).toEqual(a.kept);
});

test("a sign of life names every task that goes on", async () => {
  const { url, tasks } = await stage({ beatMs: 4 });
  const [a, b, c] = [await tasks.task(), await tasks.task(), await tasks.task()];
  await c.end();
  const stream = new Stream(`${url}/api/events?task=${a.id}&task=${b.id}&task=${c.id}`);
  await stream.until("a sign of life", ({ types }) => types.includes("task.heartbeat"));
  const signs = stream.frames.filter(({ event }) => event.type === "task.heartbeat");
  expect(signs.slice(0, 2).map(({ event }) => event.task_id)).toEqual([a.id, b.id]);
});

test("a task that is not there is refused in the stream, and the others go on", async () => {
  const { url, tasks } = await stage();
  const task = await tasks.task();
  const { id } = task;
  const stream = new Stream(`${url}/api/events?task=task_none:3&task=${id}`);
  await stream.until("the task", ({ types }) => types.includes("task.snapshot"));
  expect(framesOf(stream.frames, "task_none")).toMatchObject([
    { event: { type: "task.stream.refused", code: "task_not_found" } },
  ]);
  await task.end();
  await stream.untilEnd();
  expect(stream.types.at(-1)).toBe("task.completed");
});

test("what is no list of tasks is refused by name", async () => {
  const { url, tasks } = await stage();
  const { id } = await tasks.task();
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
