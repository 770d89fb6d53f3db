import { createChatClient } from "@deltawire/tasks/chats";
import type { StreamEvent, TaskEvent } from "@deltawire/tasks";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { EventLine } from "../../src/gateway/event-line.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, until, type NodeWorld } from "../node-world.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

/** A line, and the streams that it has open. */
function openLine(world: NodeWorld = nodeWorld(gateway.url)) {
  const asked: string[] = [];
  let open = 0;
  const line = new EventLine({
    ...world,
    fetch: async (url, init) => {
      asked.push(decodeURIComponent(url.split("?")[1] ?? ""));
      open += 1;
      init?.signal?.addEventListener("abort", () => (open -= 1));
      return world.fetch(url, init);
    },
  });
  onTestFinished(() => line.close());
  return { line, world, asked, openStreams: () => open };
}

async function sendLong(words: number): Promise<{ chatId: string; taskId: string }> {
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { model: "demo/clean" } });
  const { task_id } = await client.send(chat.chat_id, { text: `long ${words}` });
  return { chatId: chat.chat_id, taskId: task_id };
}

/** Follows a task on the line and keeps what it is told. */
function listen(line: EventLine, taskId: string, after: number | "a snapshot" = -1) {
  const heard: (TaskEvent | StreamEvent)[] = [];
  let settle: () => void;
  const ended = new Promise<void>((resolve) => (settle = resolve));
  const followed = line.connectTask(
    { task_id: taskId, after: after === "a snapshot" ? undefined : after },
    {
      event(event) {
        heard.push(event);
        if (event.type === "task.completed" || event.type === "task.stream.refused") settle();
      },
      closed: () => undefined,
      refused: () => undefined,
    },
  );
  return { heard, ended, close: () => followed.close() };
}

function numbersOf(heard: readonly (TaskEvent | StreamEvent)[]): number[] {
  return heard.flatMap((event) => {
    if (!("sequence_number" in event)) return [];
    const { coalesced_from = event.sequence_number, sequence_number } = event;
    return Array.from(
      { length: sequence_number - coalesced_from + 1 },
      (_, index) => coalesced_from + index,
    );
  });
}

const noHandlers = { event: () => undefined, closed: () => undefined, refused: () => undefined };

test("what is followed more or no longer reopens the one stream, without a gap and without a double", async () => {
  const { line, asked, openStreams } = openLine();
  line.open();
  line.connectChats(undefined, noHandlers);
  const first = await sendLong(120);
  const second = await sendLong(60);
  const one = listen(line, first.taskId);
  for (let times = 0; times < 8; times += 1) {
    const other = listen(line, second.taskId, "a snapshot");
    await new Promise((resolve) => setTimeout(resolve, 100));
    other.close();
  }
  const other = listen(line, second.taskId);
  await Promise.all([one.ended, other.ended]);
  for (const { heard } of [one, other]) {
    const numbers = numbersOf(heard);
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.map((_, index) => index));
  }
  expect(asked.length).toBeGreaterThan(8);
  expect(openStreams()).toBe(1);
});

test("what is followed in one turn is asked for in one request", async () => {
  const { line, asked } = openLine();
  line.open();
  line.connectChats(7, noHandlers);
  listen(line, "task_1", 3);
  listen(line, "task_2", "a snapshot");
  await until(line.state, ({ is }) => is === "live");
  expect(asked).toEqual(["chats=7&task=task_1:3&task=task_2"]);
});

test("a task that the gateway does not know is refused, and the others go on", async () => {
  const { line } = openLine();
  line.open();
  line.connectChats(undefined, noHandlers);
  const { taskId } = await sendLong(5);
  const missing = listen(line, "task_missing");
  const known = listen(line, taskId);
  await Promise.all([missing.ended, known.ended]);
  expect(missing.heard).toMatchObject([{ type: "task.stream.refused", task_id: "task_missing" }]);
});

test("a page that nobody looks at lets its stream go, and comes back at once where it was", async () => {
  const world = nodeWorld(gateway.url, { faster: 200 });
  const { line, openStreams } = openLine(world);
  const changed = new Set<string>();
  line.open();
  line.connectChats(undefined, {
    ...noHandlers,
    event: (event) => {
      if (event.type === "chat.changed") changed.add(event.chat.chat_id);
    },
  });
  await until(line.state, ({ is }) => is === "live");
  const { chatId } = await sendLong(1);
  await expect.poll(() => changed.has(chatId), { timeout: 5000 }).toBe(true);
  world.turn({ visible: false });
  expect(line.state.get().is).toBe("live");
  await until(line.state, ({ is }) => is === "asleep");
  expect(openStreams()).toBe(0);
  const missed = await sendLong(1);
  world.turn({ visible: true });
  await until(line.state, ({ is }) => is === "live");
  await expect.poll(() => changed.has(missed.chatId), { timeout: 5000 }).toBe(true);
});

test("a lost network is told at once, and when it is back so is everything, before the next try", async () => {
  const world = nodeWorld(gateway.url);
  const never = () => () => undefined;
  const { line, asked } = openLine({ ...world, schedule: never });
  line.open();
  line.connectChats(undefined, noHandlers);
  await until(line.state, ({ is }) => is === "live");
  world.turn({ online: false });
  await until(line.state, ({ is }) => is === "offline");
  const { taskId } = await sendLong(1);
  const { ended } = listen(line, taskId);
  world.turn({ online: true });
  await until(line.state, ({ is }) => is === "live");
  await ended;
  expect(asked.at(-1)).toContain(taskId);
});

test("who does not want to wait for the next try is connected at once", async () => {
  const world = nodeWorld(gateway.url);
  let isThere = false;
  const { line } = openLine({
    ...world,
    schedule: () => () => undefined,
    fetch: (url, init) =>
      isThere ? world.fetch(url, init) : Promise.reject(new Error("nobody is there")),
  });
  line.open();
  line.connectChats(undefined, noHandlers);
  await until(line.state, ({ is }) => is === "lost");
  isThere = true;
  line.retry();
  expect(await until(line.state, ({ is }) => is === "live")).toEqual({ is: "live" });
});

test("a gateway that is reached without a network, as one of this machine is, stays live", async () => {
  const world = nodeWorld(gateway.url);
  let isOnline = true;
  const { line, asked } = openLine({ ...world, isOnline: () => isOnline });
  line.open();
  line.connectChats(undefined, noHandlers);
  await until(line.state, ({ is }) => is === "live");
  const states: string[] = [];
  line.state.subscribe(() => states.push(line.state.get().is));
  isOnline = false;
  world.turn({});
  await expect.poll(() => asked.length, { timeout: 5000 }).toBe(2);
  const { taskId } = await sendLong(1);
  await listen(line, taskId).ended;
  expect(states).toEqual([]);
});

test("a stream that says nothing for too long is given up for another", async () => {
  const world = nodeWorld(gateway.url, { faster: 100 });
  const started = Date.now();
  // A clock that runs as fast as the timers: fifteen seconds of silence are 150 ms.
  const { line, asked } = openLine({ ...world, now: () => started + 100 * (Date.now() - started) });
  line.open();
  line.connectChats(undefined, noHandlers);
  const { reason } = await until(line.state, (state) => state.is === "lost");
  // Ten milliseconds that the machine is late are a second more.
  const [, seconds] = /^nothing was heard for (\d+) s$/.exec(reason) ?? [];
  expect(Number(seconds)).toBeGreaterThanOrEqual(37);
  await until(line.state, ({ is }) => is === "live");
  expect(asked.length).toBeGreaterThan(1);
});
