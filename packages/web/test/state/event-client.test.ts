import {
  createTaskStore,
  EventClient,
  eventsOverFetch,
  type ConnectionInfo,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { createChatClient, followChats } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, until, type NodeWorld } from "../node-world.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

const changeNothing = { change: () => undefined, reset: () => undefined };

/** A client of a real gateway, and the streams that it has open. */
function openClient(world: NodeWorld = nodeWorld(gateway.url)) {
  const asked: string[] = [];
  let open = 0;
  const fetchCounted = async (url: string, init: RequestInit) => {
    asked.push(decodeURIComponent(url.split("?")[1] ?? ""));
    open += 1;
    init.signal?.addEventListener("abort", () => (open -= 1));
    return world.fetch(url, init);
  };
  const { schedule } = world;
  const client = new EventClient({
    transport: eventsOverFetch(
      { AbortController, TextDecoder, fetch: fetchCounted },
      { base: world.base },
    ),
    schedule,
    random: world.random,
    host: world,
  });
  const received = new Map<string, (TaskEvent | StreamEvent)[]>();
  const store = createTaskStore({
    client,
    schedule,
    onEvent: (taskId, event) => received.set(taskId, [...(received.get(taskId) ?? []), event]),
  });
  onTestFinished(() => {
    store.close();
    client.close();
  });
  client.open();
  const connection = {
    get: () => client.connection,
    subscribe: (listener: () => void) => client.subscribe(listener),
  };
  const becomes = (state: ConnectionInfo["state"]) =>
    until(connection, (info) => info.state === state);
  return {
    client,
    store,
    connection,
    becomes,
    asked,
    openStreams: () => open,
    events: (taskId: string) => received.get(taskId) ?? [],
    ended: async (taskId: string) => {
      const state = () => store.connection(taskId)?.state;
      await expect.poll(state, { timeout: 10_000 }).toMatch(/^(ended|refused)$/);
    },
  };
}

async function sendLong(words: number): Promise<{ chatId: string; taskId: string }> {
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { model: "demo/clean" } });
  const { task_id } = await client.send(chat.chat_id, { text: `long ${words}` });
  return { chatId: chat.chat_id, taskId: task_id };
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

test("what is followed more or no longer reopens the one stream, without a gap and without a double", async () => {
  const { client, store, asked, openStreams, events, ended } = openClient();
  followChats(client, changeNothing);
  const first = await sendLong(120);
  const second = await sendLong(60);
  const third = await sendLong(60);
  store.follow(first.taskId, { after: -1 });
  for (let times = 0; times < 8; times += 1) {
    store.follow(second.taskId);
    await new Promise((resolve) => setTimeout(resolve, 100));
    store.unfollow(second.taskId);
  }
  store.follow(third.taskId, { after: -1 });
  await Promise.all([ended(first.taskId), ended(third.taskId)]);
  for (const { taskId } of [first, third]) {
    const numbers = numbersOf(events(taskId));
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.map((_, index) => index));
  }
  expect(asked.length).toBeGreaterThan(8);
  expect(openStreams()).toBe(1);
});

test("what is followed in one turn is asked for in one request", async () => {
  const { client, store, asked, becomes } = openClient();
  followChats(client, changeNothing, { after: 7 });
  store.follow("task_1", { after: 3 });
  store.follow("task_2");
  await becomes("live");
  expect(asked).toEqual(["chats=7&task=task_1:3&task=task_2"]);
});

test("a task that the gateway does not know is refused, and the others go on", async () => {
  const { store, ended } = openClient();
  const { taskId } = await sendLong(5);
  store.follow("task_missing");
  store.follow(taskId);
  await Promise.all([ended("task_missing"), ended(taskId)]);
  expect(store.connection("task_missing")?.state).toBe("refused");
  expect(store.view(taskId)?.status).toBe("completed");
});

test("a page that nobody looks at lets its stream go, and comes back at once where it was", async () => {
  const world = nodeWorld(gateway.url, { faster: 200 });
  const { client, openStreams, becomes } = openClient(world);
  const changed = new Set<string>();
  followChats(client, {
    ...changeNothing,
    change: (event) => {
      if (event.type === "chat.changed") changed.add(event.chat.chat_id);
    },
  });
  await becomes("live");
  const { chatId } = await sendLong(1);
  await expect.poll(() => changed.has(chatId), { timeout: 5000 }).toBe(true);
  world.turn({ visible: false });
  await becomes("suspended");
  expect(openStreams()).toBe(0);
  const missed = await sendLong(1);
  world.turn({ visible: true });
  await becomes("live");
  await expect.poll(() => changed.has(missed.chatId), { timeout: 5000 }).toBe(true);
});

test("a lost network is noticed at once, and when it is back so is everything", async () => {
  const world = nodeWorld(gateway.url);
  const { client, store, asked, becomes, ended } = openClient(world);
  followChats(client, changeNothing);
  await becomes("live");
  world.turn({ online: false });
  await becomes("offline");
  const { taskId } = await sendLong(1);
  store.follow(taskId);
  world.turn({ online: true });
  await becomes("live");
  await ended(taskId);
  expect(asked.at(-1)).toContain(taskId);
});

test("a gateway that is reached without a network, as one of this machine is, stays live", async () => {
  const world = nodeWorld(gateway.url);
  let isOnline = true;
  const { client, store, connection, asked, becomes, ended } = openClient({
    ...world,
    isOnline: () => isOnline,
  });
  followChats(client, changeNothing);
  await becomes("live");
  const states: string[] = [];
  connection.subscribe(() => states.push(client.connection.state));
  isOnline = false;
  world.turn({});
  await expect.poll(() => asked.length, { timeout: 5000 }).toBe(2);
  const { taskId } = await sendLong(1);
  store.follow(taskId);
  await ended(taskId);
  expect(states).toEqual([]);
});

test("a stream that says nothing for too long is given up for another", async () => {
  // Timers that run fast: fifteen seconds of silence are 150 ms.
  const { client, asked, becomes } = openClient(nodeWorld(gateway.url, { faster: 100 }));
  followChats(client, changeNothing);
  const { reason } = await becomes("waiting");
  expect(reason).toBe("nothing was heard for 37500 ms");
  await becomes("live");
  expect(asked.length).toBeGreaterThan(1);
});
