import {
  createTaskStore,
  EventClient,
  createFetchTransport,
  type ConnectionInfo,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { createChatClient, followChats } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, waitForCell, type NodeEnvironment } from "../node-environment.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

const ignoreChanges = { onChange: () => undefined, onReset: () => undefined };

/** Opens a client of a real gateway and records its requests and events. */
function openClient(environment: NodeEnvironment = createNodeEnvironment(gateway.url)) {
  const queries: string[] = [];
  let open = 0;
  const fetchCounted = async (url: string, init: RequestInit) => {
    queries.push(decodeURIComponent(url.split("?")[1] ?? ""));
    open += 1;
    init.signal?.addEventListener("abort", () => (open -= 1));
    return environment.fetch(url, init);
  };
  const { schedule } = environment;
  const client = new EventClient({
    transport: createFetchTransport(
      { AbortController, TextDecoder, fetch: fetchCounted },
      { baseUrl: environment.baseUrl },
    ),
    schedule,
    random: environment.random,
    host: environment,
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
  const waitForState = (state: ConnectionInfo["state"]) =>
    waitForCell(connection, (info) => info.state === state);
  return {
    client,
    store,
    connection,
    waitForState,
    queries,
    openStreams: () => open,
    events: (taskId: string) => received.get(taskId) ?? [],
    waitForEnd: async (taskId: string) => {
      const state = () => store.connection(taskId)?.state;
      await expect.poll(state, { timeout: 10_000 }).toMatch(/^(ended|rejected)$/);
    },
  };
}

async function startLongAnswer(words: number): Promise<{ chatId: string; taskId: string }> {
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const { chat } = await client.create({ settings: { model: "demo/clean" } });
  const { task_id } = await client.send(chat.chat_id, { text: `long ${words}` });
  return { chatId: chat.chat_id, taskId: task_id };
}

function getSequenceNumbers(events: readonly (TaskEvent | StreamEvent)[]): number[] {
  return events.flatMap((event) => {
    if (!("sequence_number" in event)) return [];
    const { coalesced_from = event.sequence_number, sequence_number } = event;
    return Array.from(
      { length: sequence_number - coalesced_from + 1 },
      (_, index) => coalesced_from + index,
    );
  });
}

test("following and unfollowing tasks reopens the single stream, without missing or repeated events", async () => {
  const { client, store, queries, openStreams, events, waitForEnd } = openClient();
  followChats(client, ignoreChanges);
  const first = await startLongAnswer(120);
  const second = await startLongAnswer(60);
  const third = await startLongAnswer(60);
  store.follow(first.taskId, { after: -1 });
  for (let times = 0; times < 8; times += 1) {
    store.follow(second.taskId);
    await new Promise((resolve) => setTimeout(resolve, 100));
    store.unfollow(second.taskId);
  }
  store.follow(third.taskId, { after: -1 });
  await Promise.all([waitForEnd(first.taskId), waitForEnd(third.taskId)]);
  for (const { taskId } of [first, third]) {
    const numbers = getSequenceNumbers(events(taskId));
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.map((_, index) => index));
  }
  expect(queries.length).toBeGreaterThan(8);
  expect(openStreams()).toBe(1);
});

test("tasks followed in the same tick are requested together", async () => {
  const { client, store, queries, waitForState } = openClient();
  followChats(client, ignoreChanges, { after: 7 });
  store.follow("task_1", { after: 3 });
  store.follow("task_2");
  await waitForState("live");
  expect(queries).toEqual(["chats=7&task=task_1:3&task=task_2"]);
});

test("a task that the gateway does not know is rejected, and the others are still streamed", async () => {
  const { store, waitForEnd } = openClient();
  const { taskId } = await startLongAnswer(5);
  store.follow("task_missing");
  store.follow(taskId);
  await Promise.all([waitForEnd("task_missing"), waitForEnd(taskId)]);
  expect(store.connection("task_missing")?.state).toBe("rejected");
  expect(store.view(taskId)?.status).toBe("completed");
});

test("a hidden page closes its stream, and receives what it missed when it is visible again", async () => {
  const environment = createNodeEnvironment(gateway.url, { faster: 200 });
  const { client, openStreams, waitForState } = openClient(environment);
  const changed = new Set<string>();
  followChats(client, {
    ...ignoreChanges,
    onChange: (event) => {
      if (event.type === "chat.changed") changed.add(event.chat.chat_id);
    },
  });
  await waitForState("live");
  const { chatId } = await startLongAnswer(1);
  await expect.poll(() => changed.has(chatId), { timeout: 5000 }).toBe(true);
  environment.simulate({ visible: false });
  await waitForState("suspended");
  expect(openStreams()).toBe(0);
  const missed = await startLongAnswer(1);
  environment.simulate({ visible: true });
  await waitForState("live");
  await expect.poll(() => changed.has(missed.chatId), { timeout: 5000 }).toBe(true);
});

test("the client is offline without a network, and connects again when it is back", async () => {
  const environment = createNodeEnvironment(gateway.url);
  const { client, store, queries, waitForState, waitForEnd } = openClient(environment);
  followChats(client, ignoreChanges);
  await waitForState("live");
  environment.simulate({ online: false });
  await waitForState("offline");
  const { taskId } = await startLongAnswer(1);
  store.follow(taskId);
  environment.simulate({ online: true });
  await waitForState("live");
  await waitForEnd(taskId);
  expect(queries.at(-1)).toContain(taskId);
});

test("the connection stays live if the gateway is reachable while the browser is offline, as on localhost", async () => {
  const environment = createNodeEnvironment(gateway.url);
  let isOnline = true;
  const { client, store, connection, queries, waitForState, waitForEnd } = openClient({
    ...environment,
    isOnline: () => isOnline,
  });
  followChats(client, ignoreChanges);
  await waitForState("live");
  const states: string[] = [];
  connection.subscribe(() => states.push(client.connection.state));
  isOnline = false;
  environment.simulate({});
  await expect.poll(() => queries.length, { timeout: 5000 }).toBe(2);
  const { taskId } = await startLongAnswer(1);
  store.follow(taskId);
  await waitForEnd(taskId);
  expect(states).toEqual([]);
});

test("a stream that is silent for too long is replaced by a new one", async () => {
  // Timers run 100 times faster: 37.5 s of silence take 375 ms.
  const { client, queries, waitForState } = openClient(
    createNodeEnvironment(gateway.url, { faster: 100 }),
  );
  followChats(client, ignoreChanges);
  const { reason } = await waitForState("waiting");
  expect(reason).toBe("no data for 37500 ms");
  await waitForState("live");
  expect(queries.length).toBeGreaterThan(1);
});
