import { rm, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyTree, type StreamEvent, type TaskEvent, type TaskTree } from "@deltawire/tasks";
import type { ChatChange, ChatClient, ChatFeedEvent } from "@deltawire/tasks/chats";
import { expect, onTestFinished, test } from "vitest";
import { chatGatewayFixture, waitUntilSettled } from "./chat-fixture.ts";
import { sleep } from "./gateway-fixture.ts";
import {
  reduceFrames,
  taskServerFixture,
  TestStream,
  type StreamFrame,
} from "./task-server-fixture.ts";

type TabEvent = TaskEvent | StreamEvent | ChatFeedEvent | ChatChange;

/** Everything that a page follows, on one connection. */
class Tab extends TestStream<TabEvent> {
  constructor(url: string, query: string, lastEventId?: string) {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    super(`${url}/api/events?${query}`, { headers });
  }

  /** The stamps of all received changes, in order. */
  get stamps(): number[] {
    return this.frames.flatMap(({ event }) => ("stamp" in event ? [event.stamp] : []));
  }

  /** The events of a task and its sub-agents, which all have the same root. */
  tree(taskId: string, from: TaskTree = emptyTree): TaskTree {
    return reduceFrames(this.of(taskId), from);
  }

  of(taskId: string): StreamFrame[] {
    return this.frames.filter(
      (frame): frame is StreamFrame => "task_id" in frame.event && frame.event.task_id === taskId,
    );
  }

  numbers(taskId: string): number[] {
    return this.of(taskId).flatMap(({ event }) =>
      "sequence_number" in event ? [event.sequence_number] : [],
    );
  }
}

async function sendMessage(client: ChatClient, text: string) {
  const { chat } = await client.create();
  const { task_id } = await client.send(chat.chat_id, { text });
  return { chatId: chat.chat_id, taskId: task_id };
}

test("chat changes and two tasks share a connection, and each id has the positions in all of them", async () => {
  const { client, url } = await chatGatewayFixture();
  const { stamp } = await client.list();
  const [a, b] = [await sendMessage(client, "long 30"), await sendMessage(client, "Hello")];
  const tab = new Tab(url, `chats=${stamp}&task=${a.taskId}:-1&task=${b.taskId}`);
  await tab.waitUntil(
    "the ends",
    ({ types }) =>
      types.filter((type) => type === "task.completed" || type === "task.snapshot").length >= 2,
  );
  await waitUntilSettled(client, a.chatId);
  await waitUntilSettled(client, b.chatId);
  const { stamp: head } = await client.list();
  await tab.waitUntil("the last change", ({ stamps }) => stamps.at(-1) === head);
  expect(tab.types.filter((type) => type.endsWith("opened")).toSorted()).toEqual([
    "chats.opened",
    "task.stream.opened",
    "task.stream.opened",
  ]);
  const [atA, atB] = [tab.tree(a.taskId), tab.tree(b.taskId)];
  expect(atA.tasks[a.taskId]?.status).toBe("completed");
  expect(atB.tasks[b.taskId]?.status).toBe("completed");
  expect(tab.lastId).toBe(`chats:${head},${a.taskId}:${atA.head},${b.taskId}:${atB.head}`);
  expect(tab.ended).toBe(false);
  // Both tasks have ended; the feed continues.
  const { stamp: next } = await client.create({ title: "One more" });
  await tab.waitUntil("what happens later", ({ stamps }) => stamps.at(-1) === next);
  expect(tab.lastId).toBe(`chats:${next},${a.taskId}:${atA.head},${b.taskId}:${atB.head}`);
});

test("a connection that is interrupted repeatedly misses nothing and repeats nothing", async () => {
  const { client, url } = await chatGatewayFixture();
  const { stamp } = await client.list();
  const [a, b] = [await sendMessage(client, "long 60"), await sendMessage(client, "long 50")];
  const query = `chats=${stamp}&task=${a.taskId}:-1&task=${b.taskId}:-1`;
  const received = { stamps: [] as number[], a: [] as number[], b: [] as number[] };
  let lastId: string | undefined;
  const take = (tab: Tab): void => {
    received.stamps.push(...tab.stamps);
    received.a.push(...tab.numbers(a.taskId));
    received.b.push(...tab.numbers(b.taskId));
    lastId = tab.lastId ?? lastId;
  };
  for (let cut = 0; cut < 12; cut += 1) {
    const tab = new Tab(url, query, lastId);
    await tab.waitUntil("the openings", ({ frames }) => frames.length >= 3);
    await sleep(20);
    if (cut % 3 === 0) await client.create({ title: `chat ${cut}` });
    tab.disconnect();
    take(tab);
  }
  await waitUntilSettled(client, a.chatId);
  await waitUntilSettled(client, b.chatId);
  const { stamp: head } = await client.list();
  const [endA, endB] = [await fetchHead(url, a.taskId), await fetchHead(url, b.taskId)];
  const all = `chats:${head},${a.taskId}:${endA},${b.taskId}:${endB}`;
  const last = new Tab(url, query, lastId);
  await last.waitUntil("all", (tab) => (tab.lastId ?? lastId) === all);
  take(last);
  expect(received.a).toEqual(Array.from({ length: endA + 1 }, (_, number) => number));
  expect(received.b).toEqual(Array.from({ length: endB + 1 }, (_, number) => number));
  expect(received.stamps).toEqual([...new Set(received.stamps)].toSorted((a, b) => a - b));
});

async function fetchHead(url: string, taskId: string): Promise<number> {
  const { data } = (await (await fetch(`${url}/api/tasks`)).json()) as {
    data: { task_id: string; head: number }[];
  };
  return data.find(({ task_id }) => task_id === taskId)?.head ?? -1;
}

test("ended tasks are sent and then silent, while the chat feed continues", async () => {
  const { client, url } = await chatGatewayFixture({ tickMs: 4 });
  const done = await sendMessage(client, "Hello");
  await waitUntilSettled(client, done.chatId);
  const tab = new Tab(url, `chats=&task=${done.taskId}`);
  await tab.waitUntil(
    "signs of life",
    ({ types }) => types.filter((type) => type === "chats.heartbeat").length > 1,
  );
  expect(tab.types).toContain("task.snapshot");
  expect(tab.types).not.toContain("task.heartbeat");
  const { lastId } = tab;
  tab.disconnect();
  // The client has all events of the task. Alone it would get a 204; with the feed the connection stays open.
  const back = new Tab(url, `chats=&task=${done.taskId}`, lastId);
  await back.waitUntil("the opening", ({ types }) => types.includes("chats.opened"));
  expect([back.status, back.ended]).toEqual([200, false]);
});

test("chats alone start now or at a stamp", async () => {
  const { client, url } = await chatGatewayFixture();
  const { stamp } = await client.create({ title: "Before" });
  const tab = new Tab(url, "chats=");
  await tab.waitUntil("the opening", ({ frames }) => frames.length > 0);
  expect(tab.frames).toEqual([
    { id: `chats:${stamp}`, event: { type: "chats.opened", head: stamp, heartbeat_ms: 15_000 } },
  ]);
  const since = new Tab(url, `chats=${stamp - 1}`);
  await since.waitUntil("the change", ({ stamps }) => stamps.length === 1);
  expect(since.lastId).toBe(`chats:${stamp}`);
  const ahead = new Tab(url, "chats=99");
  await ahead.waitUntil("the reset", ({ types }) => types.includes("chats.reset"));
  expect(ahead.lastId).toBe(`chats:${stamp}`);
});

test("an unknown or invalid task is rejected in the stream, and the others continue", async () => {
  const { client, url } = await chatGatewayFixture();
  const there = await sendMessage(client, "Hello");
  const tab = new Tab(url, `chats=&task=task_gone:7&task=${there.taskId}:-1`);
  await tab.waitUntil("the end", ({ types }) => types.includes("task.completed"));
  expect(tab.of("task_gone")).toEqual([
    {
      id: undefined,
      event: {
        type: "task.stream.rejected",
        task_id: "task_gone",
        code: "task_not_found",
        message: 'task "task_gone" not found',
      },
    },
  ]);
  expect(tab.lastId).not.toContain("task_gone");
  // A client that resumes with it gets the event again; the complete request is not rejected.
  const back = new Tab(url, "chats=&task=task_gone:7", tab.lastId);
  await back.waitUntil("the word", ({ types }) => types.includes("task.stream.rejected"));
  expect([back.status, back.ended]).toEqual([200, false]);
  const alone = await fetch(`${url}/api/events?task=task_gone:7`);
  expect(alone.status).toBe(404);
});

test("after a restart of the gateway the last id is enough to resume", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "one-stream-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatGatewayFixture({ dataFolder });
  const done = await sendMessage(first.client, "Hello");
  const tab = new Tab(first.url, `chats=0&task=${done.taskId}:-1`);
  await tab.waitUntil("the end", ({ types }) => types.includes("task.completed"));
  await waitUntilSettled(first.client, done.chatId);
  const { stamp: head } = await first.client.list();
  await tab.waitUntil("the last change", ({ stamps }) => stamps.at(-1) === head);
  const { lastId } = tab;
  await first.gateway.close();
  await tab.waitUntilEnd();
  const { client, url } = await chatGatewayFixture({ dataFolder });
  const { stamp } = await client.create();
  const back = new Tab(url, `chats=0&task=${done.taskId}:-1`, lastId);
  await back.waitUntil("the new event", ({ stamps }) => stamps.length > 0);
  expect([back.stamps, back.numbers(done.taskId)]).toEqual([[stamp], []]);
});

test("an invalid stamp is rejected by name, and so are chats if there are none", async () => {
  const { url } = await chatGatewayFixture();
  const problem = async (base: string, query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${base}/api/events${query}`, { headers });
    const { error } = (await response.json()) as {
      error: { code: string; param: string | null; message: string };
    };
    return [response.status, error.code, error.param, error.message];
  };
  const words = expect.any(String);
  for (const query of ["?chats=x", "?chats=-1", "?chats=1.5", "?chats=1&chats=2"])
    expect([query, await problem(url, query)]).toEqual([
      query,
      [400, "invalid_request", "chats", words],
    ]);
  expect(await problem(url, "")).toEqual([400, "invalid_request", "task", words]);
  expect(await problem(url, "?chats=", { "last-event-id": "chats:x" })).toEqual([
    400,
    "invalid_request",
    "Last-Event-ID",
    words,
  ]);
  const { url: without, tasks } = await taskServerFixture();
  const { id } = await tasks.startTask();
  expect(await problem(without, `?chats=&task=${id}`)).toEqual([
    400,
    "invalid_request",
    "chats",
    "chats: this gateway has no chats",
  ]);
  expect(tasks.listeners.size).toBe(0);
});
