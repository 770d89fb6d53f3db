import fc from "fast-check";
import {
  emptyTree,
  computeStateHash,
  buildTaskView,
  type StreamEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { chooseStreamStart } from "../src/tasks/streams/cursors.ts";
import {
  reduceFrames,
  taskServerFixture,
  TestStream,
  lastStateHash,
  type TaskServerFixture,
} from "./task-server-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

type Opened = Extract<StreamEvent, { type: "task.stream.opened" }>;

const get = async (url: string): Promise<unknown> => (await fetch(url)).json();
const openStream = (url: string, taskId: string, query = "", headers: object = {}): TestStream =>
  new TestStream(`${url}/api/tasks/${taskId}/events${query}`, { headers });
const words = (count: number): string[] => Array.from({ length: count }, (_, n) => `w${n} `);
const getOpenedEvent = (stream: TestStream): Opened => stream.frames[0]?.event as Opened;

test("a client without a cursor gets a snapshot, then new events, and the end with the task", async () => {
  const { url, tasks } = await taskServerFixture();
  const task = await tasks.startTask();
  await task.emitText(["Hello", " wor"]);
  const stream = openStream(url, task.id);
  await stream.waitUntil("a snapshot", ({ types }) => types.length === 2);
  await task.emitText(["ld", "."]);
  await task.end();
  await stream.waitUntilEnd();
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
  expect(getOpenedEvent(stream)).toEqual({
    type: "task.stream.opened",
    task_id: task.id,
    protocol_version: "1.0",
    head: 5,
    oldest: 0,
    heartbeat_ms: 15_000,
    index_unit: "utf16",
    epoch: 0,
  });
  expect(buildTaskView(reduceFrames(stream.frames))).toEqual(
    await get(`${url}/api/tasks/${task.id}`),
  );
});

test("a client with a cursor gets the later events, and a snapshot and those result in the same state", async () => {
  const { url, tasks } = await taskServerFixture();
  const task = await tasks.startTask();
  await task.emitText(words(20));
  const early = openStream(url, task.id);
  await early.waitUntil("a snapshot", ({ types }) => types.length === 2);
  await task.emitText(words(20));
  await task.end();
  const all = openStream(url, task.id, "?after=-1");
  const some = openStream(url, task.id, "?after=7");
  const byHeader = openStream(url, task.id, "?after=2", { "last-event-id": "7" });
  for (const stream of [early, all, some, byHeader]) await stream.waitUntilEnd();
  const state = reduceFrames(all.frames);
  expect(all.types.slice(0, 3)).toEqual(["task.stream.opened", "task.created", "task.working"]);
  expect(all.frames.slice(1).map(({ id }) => Number(id))).toEqual(
    Array.from({ length: state.head + 1 }, (_, number) => number),
  );
  expect(getOpenedEvent(some)).toMatchObject({ resumed_from: 7, head: state.head });
  expect(some.frames[1]?.id).toBe("8");
  expect(byHeader.frames).toEqual(some.frames);
  expect(reduceFrames(early.frames)).toEqual(state);
  expect(reduceFrames(some.frames, reduceFrames(all.frames.slice(0, 9)))).toEqual(state);
});

test("events are sent exactly as they are stored", async () => {
  const { url, tasks, store } = await taskServerFixture();
  const task = await tasks.startTask();
  await task.emitText(["x", "é\u2028\n", "🙂"]);
  await task.end();
  const response = await fetch(`${url}/api/tasks/${task.id}/events?after=-1`);
  const [, ...frames] = (await response.text()).split("\n\n").slice(0, -1);
  const rows = await store.read(task.id, -1, 100);
  expect(frames).toEqual(
    rows.map(({ sequence_number, json }) => `id: ${sequence_number}\ndata: ${json}`),
  );
});

describe("the start of a stream", () => {
  const log = { head: 30_000, oldest: 100, replayAll: false };
  test.each([
    [undefined, {}, { type: "snapshot", resyncReason: undefined }],
    [30_001, {}, { type: "snapshot", resyncReason: "expired_cursor" }],
    [98, {}, { type: "snapshot", resyncReason: "expired_cursor" }],
    [99, { head: 200 }, { type: "replay", after: 99 }],
    [9_999, {}, { type: "snapshot", resyncReason: undefined }],
    [10_000, {}, { type: "replay", after: 10_000 }],
    [9_999, { replayAll: true }, { type: "replay", after: 9_999 }],
    [98, { replayAll: true }, { type: "snapshot", resyncReason: "expired_cursor" }],
    [30_000, {}, { type: "replay", after: 30_000 }],
  ])("with the cursor %s and %o is %o", (after, change, opening) => {
    expect(chooseStreamStart(after, { ...log, ...change })).toEqual(opening);
  });

  test("with a cursor after the head is a snapshot after an event that says so", async () => {
    const { url, tasks } = await taskServerFixture();
    const task = await tasks.startTask();
    const stream = openStream(url, task.id, "?after=99");
    await stream.waitUntil("a snapshot", ({ types }) => types.includes("task.snapshot"));
    expect(stream.frames[1]?.event).toEqual({
      type: "task.resync_required",
      task_id: task.id,
      reason: "expired_cursor",
      head: 1,
    });
    expect(getOpenedEvent(stream).resumed_from).toBeUndefined();
    expect(reduceFrames(stream.frames).head).toBe(1);
  });

  test("with more than 20,000 missing events is a snapshot, unless all events are requested", async () => {
    const { url, tasks } = await taskServerFixture();
    const task = await tasks.startTask();
    await task.emitText(words(20_100), { batch: 2000 });
    await task.end();
    const farBehind = openStream(url, task.id, "?after=3");
    const all = openStream(url, task.id, "?after=3&replay=all");
    await farBehind.waitUntilEnd();
    await all.waitUntilEnd();
    expect(farBehind.types).toEqual(["task.stream.opened", "task.snapshot"]);
    expect(all.frames.length).toBe(1 + 20_100 + 3);
    expect(
      reduceFrames(all.frames, reduceFrames(all.frames.slice(0, 1), treeAt3(farBehind))),
    ).toEqual(reduceFrames(farBehind.frames));

    /** The cursor of a client with the first four events. */
    function treeAt3(stream: TestStream): TaskTree {
      const finalState = reduceFrames(stream.frames);
      const root = finalState.tasks[task.id];
      const [item] = root?.output ?? [];
      if (root === undefined || item?.type !== "message") throw new Error("no message");
      const open = { ...item, status: "in_progress" as const };
      const output = [{ ...open, block_list: [{ type: "text" as const, text: "" }] }];
      return {
        ...finalState,
        head: 3,
        tasks: { [task.id]: { ...root, status: "working", output } },
      };
    }
  });
});

test("a client that reconnects 1,000 times at random points has the same state as one that stayed connected", async () => {
  const { url, tasks, streams } = await taskServerFixture();
  const task = await tasks.startTask();
  const faithful = openStream(url, task.id, "?after=-1");
  let state: TaskTree = emptyTree;
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const emitting = task.emitText(words(random(6)), { batch: 1 + random(3) });
    const query = random(40) === 0 ? "" : `?after=${state.head}`;
    const stream =
      random(2) === 0
        ? openStream(url, task.id, query)
        : openStream(url, task.id, "", { "last-event-id": String(state.head) });
    const frameCount = 1 + random(8);
    await Promise.race([
      stream.waitUntil("enough text", ({ frames }) => frames.length >= frameCount),
      sleep(1 + random(3)),
    ]);
    stream.disconnect();
    state = reduceFrames(stream.frames, state);
    await emitting;
  }
  await task.end();
  const last = openStream(url, task.id, `?after=${state.head}`);
  await last.waitUntilEnd();
  await faithful.waitUntilEnd();
  state = reduceFrames(last.frames, state);
  expect(state).toEqual(reduceFrames(faithful.frames));
  expect(computeStateHash(buildTaskView(state))).toBe(lastStateHash(faithful));
  await waitUntil("all connections to close", () => streams.count === 0);
}, 90_000);

test("wherever live events start, none is missing and none is repeated", async () => {
  const { url, tasks } = await taskServerFixture();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: -1, max: 50 }),
      async (batches, after) => {
        const task = await tasks.startTask();
        await task.emitText(words(60));
        const emitting = (async () => {
          for (const batch of batches) await task.emitText(words(batch), { batch });
          await task.end();
        })();
        const stream = openStream(url, task.id, `?after=${after}`);
        await stream.waitUntilEnd();
        await emitting;
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

describe("an ended task", () => {
  test("has a stored snapshot, so that its log is not reduced again", async () => {
    const { url, tasks, store } = await taskServerFixture();
    const response = await fetch(`${url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ model: "m", input: "Go" }),
    });
    const { task_id: id } = (await response.json()) as { task_id: string };
    const task = tasks.get(id);
    await task.emitText(words(5));
    expect(await store.snapshot(id)).toBeUndefined();
    await task.end();
    await waitUntil("the snapshot", async () => (await store.snapshot(id)) !== undefined);
    const snapshot = await store.snapshot(id);
    expect(snapshot?.as_of).toBe(11);
    const stream = openStream(url, id);
    await stream.waitUntilEnd();
    expect(stream.types).toEqual(["task.stream.opened", "task.snapshot"]);
    expect(reduceFrames(stream.frames)).toEqual(JSON.parse(snapshot?.json ?? ""));
  });

  test("is reduced only once, by the first request, if its process ended before it stored a snapshot", async () => {
    const { url, tasks, store } = await taskServerFixture();
    tasks.onStatus = () => undefined;
    const task = await tasks.startTask();
    await task.emitText(words(5));
    await task.end();
    expect(await store.snapshot(task.id)).toBeUndefined();
    const view = await get(`${url}/api/tasks/${task.id}`);
    expect(view).toMatchObject({ status: "completed" });
    expect((await store.snapshot(task.id))?.as_of).toBe(11);
    expect(await get(`${url}/api/tasks/${task.id}`)).toEqual(view);
  });

  test("keeps an EventSource from reconnecting forever", async () => {
    const { url, tasks } = await taskServerFixture();
    const task = await tasks.startTask();
    await task.end();
    const back = await fetch(`${url}/api/tasks/${task.id}/events`, {
      headers: { "last-event-id": "2" },
    });
    expect(back.status).toBe(204);
    // A client that is not reconnecting gets a reply.
    const stream = openStream(url, task.id, "?after=2");
    await stream.waitUntilEnd();
    expect([stream.status, stream.types]).toEqual([200, ["task.stream.opened"]]);
  });
});

test("a stream reports with which event its task was last resumed after a crash", async () => {
  const { url, tasks } = await taskServerFixture();
  const task = await tasks.startTask();
  await task.emitText(words(3));
  await task.emit({ type: "task.working", recovered: true, epoch: 1 });
  await task.emitText(words(1200), { batch: 600 });
  await task.emit({ type: "task.working", recovered: true, epoch: 2 });
  await task.emitText(words(1100), { batch: 600 });
  const stream = openStream(url, task.id);
  await stream.waitUntil("it to be opened", ({ types }) => types.length > 0);
  expect(getOpenedEvent(stream)).toMatchObject({ epoch: 2, recovered_at: 1208 });
  await task.emit({ type: "task.working", recovered: true, epoch: 3 });
  const secondStream = openStream(url, task.id, "?after=5");
  await secondStream.waitUntil("it to be opened", ({ types }) => types.length > 0);
  expect(getOpenedEvent(secondStream)).toMatchObject({ epoch: 3, recovered_at: 2309 });
  await task.end();
  const ended = openStream(url, task.id);
  await ended.waitUntilEnd();
  expect(getOpenedEvent(ended)).toMatchObject({ epoch: 3, recovered_at: 2309 });
});

test("a silent stream sends a keep-alive with the head after fifteen ticks", async () => {
  const { url, tasks } = await taskServerFixture({ tickMs: 4 });
  const task = await tasks.startTask();
  const stream = openStream(url, task.id);
  await stream.waitUntil("heartbeats", ({ types }) => types.at(-2) === "task.heartbeat");
  expect(getOpenedEvent(stream).heartbeat_ms).toBe(60);
  expect(stream.frames.at(-1)).toEqual({
    id: "1", // the last one seen, which a heartbeat does not change
    event: { type: "task.heartbeat", task_id: task.id, head: 1 },
  });
  await task.end();
  await stream.waitUntilEnd();
  expect(stream.types.at(-1)).toBe("task.completed");
});

describe("a client that disconnects", () => {
  const nobodyListens = ({ streams, tasks }: TaskServerFixture): boolean =>
    streams.count === 0 && tasks.listeners.size === 0;

  test("is released with all its resources, and the task continues", async () => {
    const fixture = await taskServerFixture();
    const task = await fixture.tasks.startTask();
    const streams = Array.from({ length: 20 }, () => openStream(fixture.url, task.id));
    for (const stream of streams)
      await stream.waitUntil("it to be opened", ({ types }) => types.length > 0);
    expect(fixture.streams.count).toBe(20);
    for (const stream of streams) stream.disconnect();
    await waitUntil("all connections to close", () => nobodyListens(fixture));
    await task.emitText(words(3));
    expect(await get(`${fixture.url}/api/tasks/${task.id}`)).toMatchObject({ status: "working" });
  });

  test("before its first frame is released too", async () => {
    const fixture = await taskServerFixture();
    const task = await fixture.tasks.startTask();
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const stream = openStream(fixture.url, task.id, "?after=0");
      if (attempt % 2 === 0) await sleep(1);
      stream.disconnect();
    }
    await sleep(20);
    await waitUntil("all connections to close", () => nobodyListens(fixture));
    expect(task.storedTree.tasks[task.id]?.status).toBe("working");
  });

  test("or sends HEAD leaves no resources behind", async () => {
    const fixture = await taskServerFixture();
    const task = await fixture.tasks.startTask();
    const head = await fetch(`${fixture.url}/api/tasks/${task.id}/events`, { method: "HEAD" });
    expect([head.status, nobodyListens(fixture)]).toEqual([200, true]);
  });
});

test("when the gateway stops, streams end and tasks do not", async () => {
  const { url, tasks, streams } = await taskServerFixture();
  const task = await tasks.startTask();
  const stream = openStream(url, task.id);
  await stream.waitUntil("it to be opened", ({ types }) => types.length === 2);
  streams.close();
  await stream.waitUntilEnd();
  expect(stream.reply?.complete).toBe(true);
  expect(task.storedTree.tasks[task.id]?.status).toBe("working");
  expect((await fetch(`${url}/api/tasks/${task.id}/events`)).status).toBe(503);
});

test("when the gateway stops while a log is being read, nothing is written after the end of the stream", async () => {
  const { url, tasks, store, streams } = await taskServerFixture();
  const task = await tasks.startTask();
  await task.emitText(words(10));
  const read = store.read.bind(store);
  store.read = async (...args) => {
    await sleep(20);
    return read(...args);
  };
  const stream = openStream(url, task.id, "?after=2");
  await stream.waitUntil("it to be opened", ({ types }) => types.length === 1);
  streams.close();
  await stream.waitUntilEnd();
  await sleep(30);
  expect([stream.types, stream.reply?.complete]).toEqual([["task.stream.opened"], true]);
});

test("an unreadable log is a 503 before the first frame, and the end of the stream after it", async () => {
  const fixture = await taskServerFixture();
  const { url, tasks, store } = fixture;
  const task = await tasks.startTask();
  await task.emitText(words(600), { batch: 100 });
  const failure = Object.assign(new Error("the disk is gone"), { code: "store_corrupt" });
  const read = store.read.bind(store);
  store.read = async () => {
    await sleep(20);
    throw failure;
  };
  const broken = openStream(url, task.id, "?after=3");
  await broken.waitUntilEnd();
  expect([broken.status, broken.types, broken.reply?.complete]).toEqual([
    200,
    ["task.stream.opened"],
    false,
  ]);
  const head = store.head.bind(store);
  store.head = () => Promise.reject(failure);
  const rejected = await fetch(`${url}/api/tasks/${task.id}/events?after=3`);
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({
    error: { code: "store_unavailable", message: "the disk is gone" },
  });
  Object.assign(store, { read, head });
  await waitUntil("all connections to close", () => tasks.listeners.size === 0);
  expect(fixture.streams.count).toBe(0);
});
