import { rm, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyTree, type StreamEvent, type TaskEvent, type TaskTree } from "@deltawire/tasks";
import type { ChatChange, ChatClient, ChatFeedEvent } from "@deltawire/tasks/chats";
import { expect, onTestFinished, test } from "vitest";
import { chatScene, whenSettled } from "./chat-scene.ts";
import { pause } from "./scene.ts";
import { reduced, stage, Stream, type Frame } from "./task-stage.ts";

type Told = TaskEvent | StreamEvent | ChatFeedEvent | ChatChange;

/** What a page has open: all of it on one connection. */
class Tab extends Stream<Told> {
  constructor(url: string, query: string, lastEventId?: string) {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    super(`${url}/api/events?${query}`, { headers });
  }

  /** The stamps of all changes that came, in order. */
  get stamps(): number[] {
    return this.frames.flatMap(({ event }) => ("stamp" in event ? [event.stamp] : []));
  }

  /** What came of one task and all below it: none of its sub-agents has another root. */
  tree(taskId: string, from: TaskTree = emptyTree): TaskTree {
    return reduced(this.of(taskId), from);
  }

  of(taskId: string): Frame[] {
    return this.frames.filter(
      (frame): frame is Frame => "task_id" in frame.event && frame.event.task_id === taskId,
    );
  }

  numbers(taskId: string): number[] {
    return this.of(taskId).flatMap(({ event }) =>
      "sequence_number" in event ? [event.sequence_number] : [],
    );
  }
}

async function asked(client: ChatClient, text: string) {
  const { chat } = await client.create();
  const { task_id } = await client.send(chat.chat_id, { text });
  return { chatId: chat.chat_id, taskId: task_id };
}

test("the feed of chats and two tasks share a connection, and ids name where the reader stands in all of them", async () => {
  const { client, url } = await chatScene();
  const { stamp } = await client.list();
  const [a, b] = [await asked(client, "long 30"), await asked(client, "Hello")];
  const tab = new Tab(url, `chats=${stamp}&task=${a.taskId}:-1&task=${b.taskId}`);
  await tab.until(
    "the ends",
    ({ types }) =>
      types.filter((type) => type === "task.completed" || type === "task.snapshot").length >= 2,
  );
  await whenSettled(client, a.chatId);
  await whenSettled(client, b.chatId);
  const { stamp: head } = await client.list();
  await tab.until("the last change", ({ stamps }) => stamps.at(-1) === head);
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
  // Both tasks are over; the feed goes on.
  const { stamp: next } = await client.create({ title: "One more" });
  await tab.until("what happens later", ({ stamps }) => stamps.at(-1) === next);
  expect(tab.lastId).toBe(`chats:${next},${a.taskId}:${atA.head},${b.taskId}:${atB.head}`);
});

test("a connection that is cut again and again misses nothing and tells nothing twice", async () => {
  const { client, url } = await chatScene();
  const { stamp } = await client.list();
  const [a, b] = [await asked(client, "long 60"), await asked(client, "long 50")];
  const query = `chats=${stamp}&task=${a.taskId}:-1&task=${b.taskId}:-1`;
  const told = { stamps: [] as number[], a: [] as number[], b: [] as number[] };
  let lastId: string | undefined;
  const take = (tab: Tab): void => {
    told.stamps.push(...tab.stamps);
    told.a.push(...tab.numbers(a.taskId));
    told.b.push(...tab.numbers(b.taskId));
    lastId = tab.lastId ?? lastId;
  };
  for (let cut = 0; cut < 12; cut += 1) {
    const tab = new Tab(url, query, lastId);
    await tab.until("the openings", ({ frames }) => frames.length >= 3);
    await pause(20);
    if (cut % 3 === 0) await client.create({ title: `chat ${cut}` });
    tab.leave();
    take(tab);
  }
  await whenSettled(client, a.chatId);
  await whenSettled(client, b.chatId);
  const { stamp: head } = await client.list();
  const [endA, endB] = [await headOf(url, a.taskId), await headOf(url, b.taskId)];
  const all = `chats:${head},${a.taskId}:${endA},${b.taskId}:${endB}`;
  const last = new Tab(url, query, lastId);
  await last.until("all", (tab) => (tab.lastId ?? lastId) === all);
  take(last);
  expect(told.a).toEqual(Array.from({ length: endA + 1 }, (_, number) => number));
  expect(told.b).toEqual(Array.from({ length: endB + 1 }, (_, number) => number));
  expect(told.stamps).toEqual([...new Set(told.stamps)].toSorted((one, other) => one - other));
});

async function headOf(url: string, taskId: string): Promise<number> {
  const { data } = (await (await fetch(`${url}/api/tasks`)).json()) as {
    data: { task_id: string; head: number }[];
  };
  return data.find(({ task_id }) => task_id === taskId)?.head ?? -1;
}

test("tasks that have ended before are told and then are silent beside a feed that goes on", async () => {
  const { client, url } = await chatScene({ beatMs: 4 });
  const done = await asked(client, "Hello");
  await whenSettled(client, done.chatId);
  const tab = new Tab(url, `chats=&task=${done.taskId}`);
  await tab.until(
    "signs of life",
    ({ types }) => types.filter((type) => type === "chats.heartbeat").length > 1,
  );
  expect(tab.types).toContain("task.snapshot");
  expect(tab.types).not.toContain("task.heartbeat");
  const { lastId } = tab;
  tab.leave();
  // It has all there is of the task: what an EventSource would be told 204 for is worth the feed.
  const back = new Tab(url, `chats=&task=${done.taskId}`, lastId);
  await back.until("the opening", ({ types }) => types.includes("chats.opened"));
  expect([back.status, back.ended]).toEqual([200, false]);
});

test("chats alone begin now, or at a stamp", async () => {
  const { client, url } = await chatScene();
  const { stamp } = await client.create({ title: "Before" });
  const tab = new Tab(url, "chats=");
  await tab.until("the opening", ({ frames }) => frames.length > 0);
  expect(tab.frames).toEqual([
    { id: `chats:${stamp}`, event: { type: "chats.opened", head: stamp, heartbeat_ms: 15_000 } },
  ]);
  const since = new Tab(url, `chats=${stamp - 1}`);
  await since.until("the change", ({ stamps }) => stamps.length === 1);
  expect(since.lastId).toBe(`chats:${stamp}`);
  const ahead = new Tab(url, "chats=99");
  await ahead.until("the reset", ({ types }) => types.includes("chats.reset"));
  expect(ahead.lastId).toBe(`chats:${stamp}`);
});

test("a task that is gone, or is none, is refused in the stream, and all else goes on", async () => {
  const { client, url } = await chatScene();
  const there = await asked(client, "Hello");
  const tab = new Tab(url, `chats=&task=task_gone:7&task=${there.taskId}:-1`);
  await tab.until("the end", ({ types }) => types.includes("task.completed"));
  expect(tab.of("task_gone")).toEqual([
    {
      id: undefined,
      event: {
        type: "task.stream.refused",
        task_id: "task_gone",
        code: "task_not_found",
        message: 'there is no task "task_gone"',
      },
    },
  ]);
  expect(tab.lastId).not.toContain("task_gone");
  // Whoever comes back with it is told again, and not refused as a whole.
  const back = new Tab(url, "chats=&task=task_gone:7", tab.lastId);
  await back.until("the word", ({ types }) => types.includes("task.stream.refused"));
  expect([back.status, back.ended]).toEqual([200, false]);
  const alone = await fetch(`${url}/api/events?task=task_gone:7`);
  expect(alone.status).toBe(404);
});

test("after a restart of the gateway the last id is enough", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "one-stream-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatScene({ dataFolder });
  const done = await asked(first.client, "Hello");
  const tab = new Tab(first.url, `chats=0&task=${done.taskId}:-1`);
  await tab.until("the end", ({ types }) => types.includes("task.completed"));
  await whenSettled(first.client, done.chatId);
  const { stamp: head } = await first.client.list();
  await tab.until("the last change", ({ stamps }) => stamps.at(-1) === head);
  const { lastId } = tab;
  await first.gateway.close();
  await tab.untilEnd();
  const { client, url } = await chatScene({ dataFolder });
  const { stamp } = await client.create();
  const back = new Tab(url, `chats=0&task=${done.taskId}:-1`, lastId);
  await back.until("what is new", ({ stamps }) => stamps.length > 0);
  expect([back.stamps, back.numbers(done.taskId)]).toEqual([[stamp], []]);
});

test("what is no stamp is refused by name, and so are chats where there are none", async () => {
  const { url } = await chatScene();
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
  const { url: without, tasks } = await stage();
  const { id } = await tasks.task();
  expect(await problem(without, `?chats=&task=${id}`)).toEqual([
    400,
    "invalid_request",
    "chats",
    "chats: this gateway keeps no chats",
  ]);
  expect(tasks.listeners.size).toBe(0);
});
