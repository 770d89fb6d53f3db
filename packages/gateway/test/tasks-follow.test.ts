import fc from "fast-check";
import { emptyTree, stateHash, taskView, type StreamEvent, type TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { openingOf } from "../src/tasks/follow/cursors.ts";
import { reduced, stage, Stream, toldHash, type Stage } from "./task-stage.ts";
import { pause, until } from "./scene.ts";

type Opened = Extract<StreamEvent, { type: "task.stream.opened" }>;

const get = async (url: string): Promise<unknown> => (await fetch(url)).json();
const eventsOf = (url: string, taskId: string, query = "", headers: object = {}): Stream =>
  new Stream(`${url}/api/tasks/${taskId}/events${query}`, { headers });
const words = (count: number): string[] => Array.from({ length: count }, (_, n) => `w${n} `);
const openedOf = (stream: Stream): Opened => stream.frames[0]?.event as Opened;

test("a reader without a cursor gets a snapshot, then what happens, and the end with the task's", async () => {
  const { url, tasks } = await stage();
  const task = await tasks.task();
  await task.say(["Hello", " wor"]);
  const stream = eventsOf(url, task.id);
  await stream.until("a snapshot", ({ types }) => types.length === 2);
  await task.say(["ld", "."]);
  await task.end();
  await stream.untilEnd();
  expect(stream.types).toEqual([
    "task.stream.opened",
    "task.snapshot",
    "task.text.delta",
    "task.text.delta",
    "task.text.done",
    "task.output_item.done",
    "task.completed",
  ]);
  expect(stream.frames.map(({ id }) => id)).toEqual([undefined, "5", "6", "7", "8", "9", "10"]);
  expect(stream.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  expect(openedOf(stream)).toEqual({
    type: "task.stream.opened",
    task_id: task.id,
    protocol_version: "1.0",
    head: 5,
    oldest: 0,
    heartbeat_ms: 15_000,
    index_unit: "utf16",
    epoch: 0,
  });
  expect(taskView(reduced(stream.frames))).toEqual(await get(`${url}/api/tasks/${task.id}`));
});

test("a reader with a cursor gets what is behind it, and a snapshot and the rest are the same as all", async () => {
  const { url, tasks } = await stage();
  const task = await tasks.task();
  await task.say(words(20));
  const early = eventsOf(url, task.id);
  await early.until("a snapshot", ({ types }) => types.length === 2);
  await task.say(words(20));
  await task.end();
  const all = eventsOf(url, task.id, "?after=-1");
  const some = eventsOf(url, task.id, "?after=7");
  const byHeader = eventsOf(url, task.id, "?after=2", { "last-event-id": "7" });
  for (const stream of [early, all, some, byHeader]) await stream.untilEnd();
  const state = reduced(all.frames);
  expect(all.types.slice(0, 3)).toEqual(["task.stream.opened", "task.created", "task.working"]);
  expect(all.frames.slice(1).map(({ id }) => Number(id))).toEqual(
    Array.from({ length: state.head + 1 }, (_, number) => number),
  );
  expect(openedOf(some)).toMatchObject({ resumed_from: 7, head: state.head });
  expect(some.frames[1]?.id).toBe("8");
  expect(byHeader.frames).toEqual(some.frames);
  expect(reduced(early.frames)).toEqual(state);
  expect(reduced(some.frames, reduced(all.frames.slice(0, 9)))).toEqual(state);
});

test("events are sent as they were kept, to the letter", async () => {
  const { url, tasks, store } = await stage();
  const task = await tasks.task();
  await task.say(["x", "é\u2028\n", "🙂"]);
  await task.end();
  const response = await fetch(`${url}/api/tasks/${task.id}/events?after=-1`);
  const [, ...frames] = (await response.text()).split("\n\n").slice(0, -1);
  const rows = await store.read(task.id, -1, 100);
  expect(frames).toEqual(
    rows.map(({ sequence_number, json }) => `id: ${sequence_number}\ndata: ${json}`),
  );
});

describe("how a reader is brought to the head", () => {
  const log = { head: 30_000, oldest: 100, replayAll: false };
  test.each([
    [undefined, {}, { is: "snapshot", resync: undefined }],
    [30_001, {}, { is: "snapshot", resync: "expired cursor" }],
    [98, {}, { is: "snapshot", resync: "expired cursor" }],
    [99, { head: 200 }, { is: "replay", after: 99 }],
    [9_999, {}, { is: "snapshot", resync: undefined }],
    [10_000, {}, { is: "replay", after: 10_000 }],
    [9_999, { replayAll: true }, { is: "replay", after: 9_999 }],
    [98, { replayAll: true }, { is: "snapshot", resync: "expired cursor" }],
    [30_000, {}, { is: "replay", after: 30_000 }],
  ])("with %s and %o", (after, change, opening) => {
    expect(openingOf(after, { ...log, ...change })).toEqual(opening);
  });

  test("with a cursor that is ahead: it is told to start over, and gets the whole", async () => {
    const { url, tasks } = await stage();
    const task = await tasks.task();
    const stream = eventsOf(url, task.id, "?after=99");
    await stream.until("a snapshot", ({ types }) => types.includes("task.snapshot"));
    expect(stream.frames[1]?.event).toEqual({
      type: "task.resync_required",
      task_id: task.id,
      reason: "expired cursor",
      head: 1,
    });
    expect(openedOf(stream).resumed_from).toBeUndefined();
    expect(reduced(stream.frames).head).toBe(1);
  });

  test("with more than 20,000 events behind: the whole, unless it wants all of them", async () => {
    const { url, tasks } = await stage();
    const task = await tasks.task();
    await task.say(words(20_100), { batch: 2000 });
    await task.end();
    const far = eventsOf(url, task.id, "?after=3");
    const all = eventsOf(url, task.id, "?after=3&replay=all");
    await far.untilEnd();
    await all.untilEnd();
    expect(far.types).toEqual(["task.stream.opened", "task.snapshot"]);
    expect(all.frames.length).toBe(1 + 20_100 + 3);
    expect(reduced(all.frames, reduced(all.frames.slice(0, 1), treeAt3(far)))).toEqual(
      reduced(far.frames),
    );

    /** Where a reader of the first four events stands. */
    function treeAt3(stream: Stream): TaskTree {
      const whole = reduced(stream.frames);
      const root = whole.tasks[task.id];
      const [item] = root?.output ?? [];
      if (root === undefined || item?.type !== "message") throw new Error("no message");
      const open = { ...item, status: "in_progress" as const };
      const output = [{ ...open, block_list: [{ type: "text" as const, text: "" }] }];
      return { ...whole, head: 3, tasks: { [task.id]: { ...root, status: "working", output } } };
    }
  });
});

test("a client that reconnects 1,000 times at random points has the same state as one that never left", async () => {
  const { url, tasks, streams } = await stage();
  const task = await tasks.task();
  const faithful = eventsOf(url, task.id, "?after=-1");
  let state: TaskTree = emptyTree;
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let tries = 0; tries < 1000; tries += 1) {
    const saying = task.say(words(random(6)), { batch: 1 + random(3) });
    const query = random(40) === 0 ? "" : `?after=${state.head}`;
    const stream =
      random(2) === 0
        ? eventsOf(url, task.id, query)
        : eventsOf(url, task.id, "", { "last-event-id": String(state.head) });
    const enough = 1 + random(8);
    await Promise.race([
      stream.until("enough", ({ frames }) => frames.length >= enough),
      pause(1 + random(3)),
    ]);
    stream.leave();
    state = reduced(stream.frames, state);
    await saying;
  }
  await task.end();
  const last = eventsOf(url, task.id, `?after=${state.head}`);
  await last.untilEnd();
  await faithful.untilEnd();
  state = reduced(last.frames, state);
  expect(state).toEqual(reduced(faithful.frames));
  expect(stateHash(taskView(state))).toBe(toldHash(faithful));
  await until("all to be let go", () => streams.count === 0);
}, 90_000);

test("wherever the live part begins, no event is missing and none comes twice", async () => {
  const { url, tasks } = await stage();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: -1, max: 50 }),
      async (batches, after) => {
        const task = await tasks.task();
        await task.say(words(60));
        const saying = (async () => {
          for (const batch of batches) await task.say(words(batch), { batch });
          await task.end();
        })();
        const stream = eventsOf(url, task.id, `?after=${after}`);
        await stream.untilEnd();
        await saying;
        let next = after + 1;
        for (const { event } of stream.frames.slice(1)) {
          const from = "coalesced_from" in event ? event.coalesced_from : undefined;
          const number = (event as { sequence_number: number }).sequence_number;
          expect(from ?? number).toBe(next);
          next = number + 1;
        }
        expect(stream.types.at(-1)).toBe("task.completed");
      },
    ),
    { numRuns: 40 },
  );
});

describe("the end of a task", () => {
  test("has its snapshot kept, so that its log is not added up again", async () => {
    const { url, tasks, store } = await stage();
    const response = await fetch(`${url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ model: "m", input: "Go" }),
    });
    const { task_id: id } = (await response.json()) as { task_id: string };
    const task = tasks.of(id);
    await task.say(words(5));
    expect(await store.snapshot(id)).toBeUndefined();
    await task.end();
    await until("it to be kept", async () => (await store.snapshot(id)) !== undefined);
    const kept = await store.snapshot(id);
    expect(kept?.as_of).toBe(11);
    const stream = eventsOf(url, id);
    await stream.untilEnd();
    expect(stream.types).toEqual(["task.stream.opened", "task.snapshot"]);
    expect(reduced(stream.frames)).toEqual(JSON.parse(kept?.json ?? ""));
  });

  test("of one that nobody watched is added up once, by the first who asks", async () => {
    const { url, tasks, store } = await stage();
    const task = await tasks.task();
    await task.say(words(5));
    await task.end();
    expect(await store.snapshot(task.id)).toBeUndefined();
    const view = await get(`${url}/api/tasks/${task.id}`);
    expect(view).toMatchObject({ status: "completed" });
    expect((await store.snapshot(task.id))?.as_of).toBe(11);
    expect(await get(`${url}/api/tasks/${task.id}`)).toEqual(view);
  });

  test("keeps an EventSource from coming back for ever", async () => {
    const { url, tasks } = await stage();
    const task = await tasks.task();
    await task.end();
    const back = await fetch(`${url}/api/tasks/${task.id}/events`, {
      headers: { "last-event-id": "2" },
    });
    expect(back.status).toBe(204);
    // One that asks by itself is answered.
    const stream = eventsOf(url, task.id, "?after=2");
    await stream.untilEnd();
    expect([stream.status, stream.types]).toEqual([200, ["task.stream.opened"]]);
  });
});

test("a task that was taken up after a crash tells since when", async () => {
  const { url, tasks } = await stage();
  const task = await tasks.task();
  await task.say(words(3));
  await task.emit({ type: "task.working", recovered: true, epoch: 1 });
  await task.say(words(1200), { batch: 600 });
  await task.emit({ type: "task.working", recovered: true, epoch: 2 });
  await task.say(words(1100), { batch: 600 });
  const stream = eventsOf(url, task.id);
  await stream.until("it to open", ({ types }) => types.length > 0);
  expect(openedOf(stream)).toMatchObject({ epoch: 2, recovered_at: 1208 });
  await task.emit({ type: "task.working", recovered: true, epoch: 3 });
  const again = eventsOf(url, task.id, "?after=5");
  await again.until("it to open", ({ types }) => types.length > 0);
  expect(openedOf(again)).toMatchObject({ epoch: 3, recovered_at: 2309 });
  await task.end();
  const ended = eventsOf(url, task.id);
  await ended.untilEnd();
  expect(openedOf(ended)).toMatchObject({ epoch: 3, recovered_at: 2309 });
});

test("a silent stream says after fifteen beats that it lives, and where the log is", async () => {
  const { url, tasks } = await stage({ beatMs: 4 });
  const task = await tasks.task();
  const stream = eventsOf(url, task.id);
  await stream.until("signs of life", ({ types }) => types.at(-2) === "task.heartbeat");
  expect(openedOf(stream).heartbeat_ms).toBe(60);
  expect(stream.frames.at(-1)).toEqual({
    id: "1", // the last one seen, which a heartbeat does not change
    event: { type: "task.heartbeat", task_id: task.id, head: 1 },
  });
  await task.end();
  await stream.untilEnd();
  expect(stream.types.at(-1)).toBe("task.completed");
});

describe("a client that leaves", () => {
  const nobodyListens = ({ streams, tasks }: Stage): boolean =>
    streams.count === 0 && tasks.listeners.size === 0;

  test("is forgotten with all that it held, and the task goes on", async () => {
    const staged = await stage();
    const task = await staged.tasks.task();
    const streams = Array.from({ length: 20 }, () => eventsOf(staged.url, task.id));
    for (const stream of streams) await stream.until("it to open", ({ types }) => types.length > 0);
    expect(staged.streams.count).toBe(20);
    for (const stream of streams) stream.leave();
    await until("all to be let go", () => nobodyListens(staged));
    await task.say(words(3));
    expect(await get(`${staged.url}/api/tasks/${task.id}`)).toMatchObject({ status: "working" });
  });

  test("before its first frame is forgotten too", async () => {
    const staged = await stage();
    const task = await staged.tasks.task();
    for (let tries = 0; tries < 50; tries += 1) {
      const stream = eventsOf(staged.url, task.id, "?after=0");
      if (tries % 2 === 0) await pause(1);
      stream.leave();
    }
    await pause(20);
    await until("all to be let go", () => nobodyListens(staged));
    expect(task.kept.tasks[task.id]?.status).toBe("working");
  });

  test("and one that asks for the head alone hold nothing", async () => {
    const staged = await stage();
    const task = await staged.tasks.task();
    const head = await fetch(`${staged.url}/api/tasks/${task.id}/events`, { method: "HEAD" });
    expect([head.status, nobodyListens(staged)]).toEqual([200, true]);
  });
});

test("when the gateway stops, streams end and tasks do not", async () => {
  const { url, tasks, streams } = await stage();
  const task = await tasks.task();
  const stream = eventsOf(url, task.id);
  await stream.until("it to open", ({ types }) => types.length === 2);
  streams.close();
  await stream.untilEnd();
  expect(stream.reply?.complete).toBe(true);
  expect(task.kept.tasks[task.id]?.status).toBe("working");
  expect((await fetch(`${url}/api/tasks/${task.id}/events`)).status).toBe(503);
});

test("when it stops while a log is being read, nothing is written behind the end", async () => {
  const { url, tasks, store, streams } = await stage();
  const task = await tasks.task();
  await task.say(words(10));
  const read = store.read.bind(store);
  store.read = async (...asked) => {
    await pause(20);
    return read(...asked);
  };
  const stream = eventsOf(url, task.id, "?after=2");
  await stream.until("it to open", ({ types }) => types.length === 1);
  streams.close();
  await stream.untilEnd();
  await pause(30);
  expect([stream.types, stream.reply?.complete]).toEqual([["task.stream.opened"], true]);
});

test("a log that cannot be read is a 503 before the first frame, and the end of the stream after it", async () => {
  const staged = await stage();
  const { url, tasks, store } = staged;
  const task = await tasks.task();
  await task.say(words(600), { batch: 100 });
  const failure = Object.assign(new Error("the disk is gone"), { code: "store_corrupt" });
  const read = store.read.bind(store);
  store.read = async () => {
    await pause(20);
    throw failure;
  };
  const broken = eventsOf(url, task.id, "?after=3");
  await broken.untilEnd();
  expect([broken.status, broken.types, broken.reply?.complete]).toEqual([
    200,
    ["task.stream.opened"],
    false,
  ]);
  const head = store.head.bind(store);
  store.head = () => Promise.reject(failure);
  const refused = await fetch(`${url}/api/tasks/${task.id}/events?after=3`);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({
    error: { code: "store_unavailable", message: "the disk is gone" },
  });
  Object.assign(store, { read, head });
  await until("all to be let go", () => tasks.listeners.size === 0);
  expect(staged.streams.count).toBe(0);
});
