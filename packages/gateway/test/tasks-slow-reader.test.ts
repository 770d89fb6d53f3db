import { computeStateHash, buildTaskView } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  reduceFrames,
  taskServerFixture,
  TestStream,
  lastStateHash,
  type TaskServerFixture,
} from "./task-server-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

/** Returns how many bytes the server buffers for its clients. */
const countBufferedBytes = ({ sockets }: TaskServerFixture): number =>
  [...sockets].reduce((sum, socket) => sum + socket.writableLength, 0);

const large = "x".repeat(2000);

describe("a client that stops reading", () => {
  test("uses a bounded buffer, is resynchronized, and then has the same state", async () => {
    const fixture = await taskServerFixture();
    const { url, tasks } = fixture;
    const task = await tasks.startTask();
    const stream = new TestStream(`${url}/api/tasks/${task.id}/events`);
    const eager = new TestStream(`${url}/api/tasks/${task.id}/events`);
    await stream.waitUntil("a snapshot", ({ types }) => types.length === 2);
    await eager.waitUntil("a snapshot", ({ types }) => types.length === 2);
    stream.pause();
    let peakBytes = 0;
    // 12 MB: far more than the kernel buffers for a socket that nobody reads.
    for (let batchNumber = 0; batchNumber < 120; batchNumber += 1) {
      await task.emitText(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await sleep(0);
      peakBytes = Math.max(peakBytes, countBufferedBytes(fixture));
    }
    expect(peakBytes).toBeLessThan(1.5 * 1024 * 1024);
    const state = task.storedTree;
    stream.resume();
    await stream.waitUntil(
      "the complete reply",
      ({ types }) => types.lastIndexOf("task.snapshot") > 1,
    );
    const resyncIndex = stream.types.indexOf("task.resync_required");
    expect(stream.frames[resyncIndex]?.event).toMatchObject({ reason: "slow_consumer" });
    expect(stream.types[resyncIndex + 1]).toBe("task.snapshot");
    expect(reduceFrames(stream.frames)).toEqual(state);
    // Far fewer events than were emitted: none was queued.
    expect(stream.frames.length).toBeLessThan(5000);
    await task.emitText(["and", " on"]);
    await task.end();
    await stream.waitUntilEnd();
    await eager.waitUntilEnd();
    const finalState = reduceFrames(stream.frames);
    expect(finalState).toEqual(reduceFrames(eager.frames));
    expect(computeStateHash(buildTaskView(finalState))).toBe(lastStateHash(stream));
  }, 30_000);

  test("for a while gets what it missed in fewer events", async () => {
    const fixture = await taskServerFixture();
    const { url, tasks } = fixture;
    const task = await tasks.startTask();
    const stream = new TestStream(`${url}/api/tasks/${task.id}/events`);
    await stream.waitUntil("a snapshot", ({ types }) => types.length === 2);
    stream.pause();
    while (countBufferedBytes(fixture) === 0) {
      await task.emitText(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await sleep(0);
    }
    await task.emitText(Array.from({ length: 500 }, () => "y"));
    stream.resume();
    await stream.waitUntil(
      "the last event",
      ({ lastId }) => Number(lastId) === task.storedTree.head,
    );
    expect(stream.types).not.toContain("task.resync_required");
    const coalescedEvents = stream.frames.flatMap(({ event }) =>
      "coalesced_from" in event && event.coalesced_from !== undefined ? [event] : [],
    );
    expect(coalescedEvents.length).toBeGreaterThan(0);
    expect(reduceFrames(stream.frames)).toEqual(task.storedTree);
  }, 30_000);

  test("but requests all events gets all of them, however late", async () => {
    const fixture = await taskServerFixture();
    const { url, tasks } = fixture;
    const task = await tasks.startTask();
    const stream = new TestStream(`${url}/api/tasks/${task.id}/events?after=-1&replay=all`);
    await stream.waitUntil("an event", ({ types }) => types.length === 3);
    stream.pause();
    for (let batchNumber = 0; batchNumber < 100; batchNumber += 1) {
      await task.emitText(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await sleep(0);
    }
    await task.end();
    stream.resume();
    await stream.waitUntilEnd();
    expect(stream.types).not.toContain("task.snapshot");
    expect(reduceFrames(stream.frames)).toEqual(await fixture.service.loadTree(task.id));
  }, 30_000);

  test("for a minute is disconnected, and gets everything when it reconnects", async () => {
    const fixture = await taskServerFixture({ tickMs: 5 });
    const { url, tasks, streams } = fixture;
    const task = await tasks.startTask();
    const stream = new TestStream(`${url}/api/tasks/${task.id}/events?after=-1`);
    await stream.waitUntil("an event", ({ types }) => types.length === 3);
    stream.pause();
    while (countBufferedBytes(fixture) === 0) {
      await task.emitText(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await sleep(0);
    }
    await waitUntil("the client to be disconnected", () => streams.count === 0);
    expect(tasks.listeners.size).toBe(0);
    stream.resume();
    await stream.waitUntilEnd();
    const before = reduceFrames(stream.frames);
    await task.end();
    const resumedStream = new TestStream(`${url}/api/tasks/${task.id}/events?after=${before.head}`);
    await resumedStream.waitUntilEnd();
    expect(reduceFrames(resumedStream.frames, before)).toEqual(
      await fixture.service.loadTree(task.id),
    );
  }, 30_000);
});

test("a slow client is not disconnected while written data is still being sent", async () => {
  const fixture = await taskServerFixture({ tickMs: 10 });
  const { url, tasks } = fixture;
  const task = await tasks.startTask();
  // One snapshot of 24 MB, which takes longer than sixty ticks at this pace.
  for (let batchNumber = 0; batchNumber < 12; batchNumber += 1)
    await task.emitText(
      Array.from({ length: 1000 }, () => large),
      { batch: 1000 },
    );
  const stream = new TestStream(`${url}/api/tasks/${task.id}/events`);
  await stream.waitUntil("an answer", ({ reply }) => reply !== undefined);
  const startedAt = Date.now();
  while (!stream.types.includes("task.snapshot")) {
    expect(stream.ended).toBe(false);
    stream.pause();
    await sleep(60);
    stream.resume();
    await sleep(1);
  }
  expect(Date.now() - startedAt).toBeGreaterThan(600);
  expect(reduceFrames(stream.frames)).toEqual(task.storedTree);
}, 30_000);
