import { stateHash, taskView } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { reduced, stage, Stream, toldHash, type Stage } from "./task-stage.ts";
import { pause, until } from "./scene.ts";

/** What the server holds for its readers, in bytes. */
const heldFor = ({ sockets }: Stage): number =>
  [...sockets].reduce((sum, socket) => sum + socket.writableLength, 0);

const large = "x".repeat(2000);

describe("a reader that stops reading", () => {
  test("costs a bounded buffer, is told to start over, and then has the same state", async () => {
    const staged = await stage();
    const { url, tasks } = staged;
    const task = await tasks.task();
    const stream = new Stream(`${url}/api/tasks/${task.id}/events`);
    const eager = new Stream(`${url}/api/tasks/${task.id}/events`);
    await stream.until("a snapshot", ({ types }) => types.length === 2);
    await eager.until("a snapshot", ({ types }) => types.length === 2);
    stream.pause();
    let most = 0;
    // 12 MB: far more than the kernel takes for a socket that nobody reads.
    for (let said = 0; said < 120; said += 1) {
      await task.say(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await pause(0);
      most = Math.max(most, heldFor(staged));
    }
    expect(most).toBeLessThan(1.5 * 1024 * 1024);
    const state = task.kept;
    stream.resume();
    await stream.until("the whole", ({ types }) => types.lastIndexOf("task.snapshot") > 1);
    const told = stream.types.indexOf("task.resync_required");
    expect(stream.frames[told]?.event).toMatchObject({ reason: "slow consumer" });
    expect(stream.types[told + 1]).toBe("task.snapshot");
    expect(reduced(stream.frames)).toEqual(state);
    // Far fewer than were said: nobody queued them.
    expect(stream.frames.length).toBeLessThan(5000);
    await task.say(["and", " on"]);
    await task.end();
    await stream.untilEnd();
    await eager.untilEnd();
    const whole = reduced(stream.frames);
    expect(whole).toEqual(reduced(eager.frames));
    expect(stateHash(taskView(whole))).toBe(toldHash(stream));
  }, 30_000);

  test("for a while gets what it missed in fewer events", async () => {
    const staged = await stage();
    const { url, tasks } = staged;
    const task = await tasks.task();
    const stream = new Stream(`${url}/api/tasks/${task.id}/events`);
    await stream.until("a snapshot", ({ types }) => types.length === 2);
    stream.pause();
    while (heldFor(staged) === 0) {
      await task.say(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await pause(0);
    }
    await task.say(Array.from({ length: 500 }, () => "y"));
    stream.resume();
    await stream.until("the last word", ({ lastId }) => Number(lastId) === task.kept.head);
    expect(stream.types).not.toContain("task.resync_required");
    const joined = stream.frames.flatMap(({ event }) =>
      "coalesced_from" in event && event.coalesced_from !== undefined ? [event] : [],
    );
    expect(joined.length).toBeGreaterThan(0);
    expect(reduced(stream.frames)).toEqual(task.kept);
  }, 30_000);

  test("but wants all gets all, however late", async () => {
    const staged = await stage();
    const { url, tasks } = staged;
    const task = await tasks.task();
    const stream = new Stream(`${url}/api/tasks/${task.id}/events?after=-1&replay=all`);
    await stream.until("an event", ({ types }) => types.length === 3);
    stream.pause();
    for (let said = 0; said < 100; said += 1) {
      await task.say(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await pause(0);
    }
    await task.end();
    stream.resume();
    await stream.untilEnd();
    expect(stream.types).not.toContain("task.snapshot");
    expect(reduced(stream.frames)).toEqual(await staged.service.tree(task.id));
  }, 30_000);

  test("for sixty beats is let go, and finds everything when it comes back", async () => {
    const staged = await stage({ beatMs: 5 });
    const { url, tasks, streams } = staged;
    const task = await tasks.task();
    const stream = new Stream(`${url}/api/tasks/${task.id}/events?after=-1`);
    await stream.until("an event", ({ types }) => types.length === 3);
    stream.pause();
    while (heldFor(staged) === 0) {
      await task.say(
        Array.from({ length: 50 }, () => large),
        { batch: 50 },
      );
      await pause(0);
    }
    await until("it to be let go", () => streams.count === 0);
    expect(tasks.listeners.size).toBe(0);
    stream.resume();
    await stream.untilEnd();
    const before = reduced(stream.frames);
    await task.end();
    const back = new Stream(`${url}/api/tasks/${task.id}/events?after=${before.head}`);
    await back.untilEnd();
    expect(reduced(back.frames, before)).toEqual(await staged.service.tree(task.id));
  }, 30_000);
});

test("a slow reader is not given up while what was written still goes out", async () => {
  const staged = await stage({ beatMs: 10 });
  const { url, tasks } = staged;
  const task = await tasks.task();
  // One snapshot of 24 MB, which takes longer than sixty beats at this pace.
  for (let said = 0; said < 12; said += 1)
    await task.say(
      Array.from({ length: 1000 }, () => large),
      { batch: 1000 },
    );
  const stream = new Stream(`${url}/api/tasks/${task.id}/events`);
  await stream.until("an answer", ({ reply }) => reply !== undefined);
  const began = Date.now();
  while (!stream.types.includes("task.snapshot")) {
    expect(stream.ended).toBe(false);
    stream.pause();
    await pause(60);
    stream.resume();
    await pause(1);
  }
  expect(Date.now() - began).toBeGreaterThan(600);
  expect(reduced(stream.frames)).toEqual(task.kept);
}, 30_000);
