import {
  emptyTree,
  createFetchTransport,
  reduce,
  type EventTransport,
  type TaskEvent,
} from "@deltawire/tasks";
import { followChats, type ChatChange, type ChatFeedEvent } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { sampleLog } from "../sample-log.ts";
import { createOpenedEvent, createSnapshotEvent } from "../scripted-stream.ts";
import { ScriptedClient } from "./scripted-transport.ts";

const reduceFirst = (count: number) => reduce(emptyTree, sampleLog.slice(0, count));
const createChatsOpenedEvent = (head = 4): ChatFeedEvent => ({
  type: "chats.opened",
  head,
  heartbeat_ms: 1000,
});
const heartbeat: ChatFeedEvent = { type: "chats.heartbeat", head: 4 };
const reset: ChatFeedEvent = { type: "chats.reset", head: 2 };
const createRemovedChange = (stamp: number): ChatChange => ({
  type: "chat.removed",
  stamp,
  chat_id: "chat_1",
});

/** Creates a client that follows the chats and the sample task and has received the first events of the task. */
async function followChatsAndTask(count: number) {
  const script = new ScriptedClient();
  const changes: string[] = [];
  script.client.open();
  const chats = followChats(script.client, {
    onChange: ({ stamp }) => changes.push(`change ${stamp}`),
    onReset: () => changes.push("reset"),
  });
  script.store.follow("task_1", { after: -1 });
  await script.settle();
  script.send(createChatsOpenedEvent(), createOpenedEvent(), ...sampleLog.slice(0, count));
  return { script, chats, changes };
}

describe("the connection of an event client", () => {
  test("opens one stream for all subscriptions of a turn, and another with the current cursors after a change", async () => {
    const { script } = await followChatsAndTask(20);
    expect(script.connections.map(({ request }) => request)).toEqual([
      { chats: { after: undefined }, tasks: [{ task_id: "task_1", after: -1 }] },
    ]);
    script.send(createRemovedChange(7));
    script.store.follow("task_2");
    await script.settle();
    expect(script.lastConnection.request).toEqual({
      chats: { after: 7 },
      tasks: [
        { task_id: "task_1", after: 19 },
        { task_id: "task_2", after: undefined },
      ],
    });
    expect(script.connections.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect(script.client.connection).toEqual({ state: "live" });
    script.store.unfollow("task_2");
    await script.settle();
    expect(script.lastConnection.request.tasks).toEqual([{ task_id: "task_1", after: 19 }]);
  });

  test("delivers events of sub-agents to their root task, even after a snapshot", async () => {
    const { script } = await followChatsAndTask(20);
    script.store.follow("task_2");
    await script.settle();
    expect(sampleLog.slice(20).some(({ task_id }) => task_id === "call_1")).toBe(true);
    script.send(createSnapshotEvent(30), ...sampleLog.slice(30));
    expect(script.store.tree("task_1")).toEqual(reduceFirst(sampleLog.length));
    expect(script.store.tree("task_2")).toBeUndefined();
  });

  test("drops events of a task that is no longer followed", async () => {
    const { script } = await followChatsAndTask(10);
    script.store.follow("task_2");
    script.store.unfollow("task_1");
    script.send(...sampleLog.slice(10, 12));
    expect(script.store.tree("task_1")).toBeUndefined();
    expect(script.store.connection("task_2")?.state).toBe("live");
  });

  test("ignores duplicated events", async () => {
    const { script } = await followChatsAndTask(20);
    const tree = script.store.tree("task_1");
    script.send(...sampleLog.slice(5, 20));
    expect(script.store.tree("task_1")).toBe(tree);
    expect(script.connections).toHaveLength(1);
  });

  test("is not reopened when a task ends or an ended task is unfollowed", async () => {
    const { script } = await followChatsAndTask(sampleLog.length);
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    script.store.unfollow("task_1");
    await script.settle();
    expect(script.connections).toHaveLength(1);
    script.lastConnection.handlers.onClosed();
    script.clock.advance(200);
    expect(script.lastConnection.request).toEqual({ chats: { after: 4 }, tasks: [] });
  });

  test("starts with the most recently followed tasks if there are more than the gateway accepts", () => {
    const script = new ScriptedClient();
    const ids = Array.from({ length: 150 }, (_, index) => `task_${index}`);
    for (const id of ids) script.store.follow(id);
    script.client.open();
    const requestedIds = () => script.lastConnection.request.tasks.map(({ task_id }) => task_id);
    expect(requestedIds()).toEqual(ids.slice(50));
  });

  test("follows other tasks after a while if there are more than the gateway accepts", async () => {
    const script = new ScriptedClient();
    const ids = Array.from({ length: 150 }, (_, index) => `task_${index}`);
    for (const id of ids) script.store.follow(id);
    script.client.open();
    script.clock.advance(18_000);
    await script.settle();
    expect(script.lastConnection.request.tasks.map(({ task_id }) => task_id)).toEqual([
      ...ids.slice(100),
      ...ids.slice(0, 50),
    ]);
  });

  test("closes its stream and stops all timers if it has no subscriptions", async () => {
    const { script, chats } = await followChatsAndTask(10);
    chats.close();
    script.store.close();
    expect(script.client.connection).toEqual({ state: "idle" });
    expect(script.lastConnection.isClosed).toBe(true);
    script.client.close();
    expect(script.clock.timerCount).toBe(0);
  });
});

describe("a task with missing events", () => {
  test("is requested again without affecting the others", async () => {
    const { script, changes } = await followChatsAndTask(10);
    script.send(sampleLog[12] as TaskEvent, createRemovedChange(5));
    expect(script.store.connection("task_1")).toMatchObject({ state: "waiting" });
    expect(script.client.connection).toEqual({ state: "live" });
    script.clock.advance(199);
    expect(script.connections).toHaveLength(1);
    script.clock.advance(1);
    expect(script.lastConnection.request).toEqual({
      chats: { after: 5 },
      tasks: [{ task_id: "task_1", after: undefined }],
    });
    script.send(createOpenedEvent(), createSnapshotEvent(30));
    expect(script.store.tree("task_1")).toEqual(reduceFirst(30));
    expect(changes).toEqual(["change 5"]);
  });

  test("is requested again if it was resumed from an earlier event after a crash", async () => {
    const { script } = await followChatsAndTask(10);
    script.lastConnection.handlers.onClosed("reset by peer");
    script.clock.advance(200);
    expect(script.lastConnection.request.tasks).toEqual([{ task_id: "task_1", after: 9 }]);
    script.send(createChatsOpenedEvent(), createOpenedEvent({ epoch: 1, recovered_at: 5 }));
    script.clock.advance(200);
    expect(script.lastConnection.request.tasks).toEqual([{ task_id: "task_1", after: undefined }]);
  });

  test("is requested again with backoff", async () => {
    const { script } = await followChatsAndTask(10);
    for (let times = 0; times < 600; times += 1) {
      script.send(createChatsOpenedEvent(), createOpenedEvent(), sampleLog[12] as TaskEvent);
      script.clock.advance(100);
    }
    expect(script.connections.length).toBeLessThan(15);
  });

  test("that the gateway rejects is not requested again", async () => {
    const { script } = await followChatsAndTask(10);
    const message = "unknown task";
    script.send({ type: "task.stream.rejected", task_id: "task_1", code: "not_found", message });
    expect(script.store.connection("task_1")).toEqual({ state: "rejected", reason: message });
    script.lastConnection.handlers.onClosed();
    script.clock.advance(200);
    expect(script.lastConnection.request.tasks).toEqual([]);
  });
});

test("a reset of the chat feed is reported, and the feed continues from the new head", async () => {
  const { script, changes } = await followChatsAndTask(10);
  script.lastConnection.handlers.onClosed();
  script.clock.advance(200);
  script.send(createChatsOpenedEvent(2), reset);
  script.lastConnection.handlers.onClosed();
  script.clock.advance(400);
  expect(changes).toEqual(["reset"]);
  expect(script.lastConnection.request.chats).toEqual({ after: 2 });
});

describe("a lost connection", () => {
  test("is retried with a backoff of up to ten seconds", async () => {
    const { script } = await followChatsAndTask(10);
    const waits: number[] = [];
    for (let times = 0; times < 8; times += 1) {
      script.lastConnection.handlers.onClosed("gone");
      const { retryAt = 0, reason } = script.client.connection;
      expect(reason).toBe("gone");
      waits.push(retryAt - script.clock.now);
      script.clock.advance(retryAt - script.clock.now);
      expect(script.client.connection).toEqual({ state: "connecting" });
    }
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  test("is retried without backoff if it was open for five seconds or had new events", async () => {
    const { script } = await followChatsAndTask(10);
    const closeAndMeasureWait = () => {
      script.lastConnection.handlers.onClosed();
      const { retryAt = 0 } = script.client.connection;
      const wait = retryAt - script.clock.now;
      script.clock.advance(wait);
      return wait;
    };
    expect([closeAndMeasureWait(), closeAndMeasureWait()]).toEqual([200, 400]);
    script.send(createChatsOpenedEvent());
    for (let beat = 0; beat < 5; beat += 1) {
      script.clock.advance(1000);
      script.lastConnection.handlers.onActivity();
      script.clock.advance();
    }
    expect([closeAndMeasureWait(), closeAndMeasureWait()]).toEqual([200, 400]);
    script.send(createChatsOpenedEvent(), createRemovedChange(5));
    expect([closeAndMeasureWait(), closeAndMeasureWait()]).toEqual([200, 400]);
    script.send(createChatsOpenedEvent(), heartbeat);
    expect(closeAndMeasureWait()).toBe(200);
  });

  test("is assumed after 2.5 heartbeats without data", async () => {
    const { script } = await followChatsAndTask(10);
    for (let times = 0; times < 10; times += 1) {
      script.clock.advance(2400);
      script.lastConnection.handlers.onActivity();
      script.clock.advance();
    }
    expect(script.connections).toHaveLength(1);
    script.clock.advance(2500);
    expect(script.client.connection).toMatchObject({
      state: "waiting",
      reason: "no data for 2500 ms",
    });
    expect(script.lastConnection.isClosed).toBe(true);
  });

  test("is retried immediately by retryNow", async () => {
    const { script } = await followChatsAndTask(10);
    script.lastConnection.handlers.onClosed();
    script.client.retryNow();
    expect(script.connections).toHaveLength(2);
    script.client.retryNow();
    expect(script.connections).toHaveLength(2);
  });

  test("is retried with the tasks that were followed in the meantime", async () => {
    const { script } = await followChatsAndTask(10);
    script.lastConnection.handlers.onClosed();
    script.store.follow("task_2");
    await script.settle();
    expect(script.connections).toHaveLength(1);
    script.clock.advance(200);
    expect(script.lastConnection.request.tasks.map(({ task_id }) => task_id)).toEqual([
      "task_1",
      "task_2",
    ]);
  });

  test("has the reason and cause that the transport reported", async () => {
    const { script } = await followChatsAndTask(10);
    const cause = new Error("503");
    script.lastConnection.handlers.onClosed("no store", cause);
    expect(script.client.connection).toMatchObject({ state: "waiting", reason: "no store", cause });
  });
});

test("a rejected connection is only retried by open, with the current cursors", async () => {
  const { script } = await followChatsAndTask(10);
  script.lastConnection.handlers.onRejected("no token");
  expect(script.client.connection).toEqual({ state: "rejected", reason: "no token" });
  expect(script.store.connection("task_1")).toEqual({ state: "live" }); // the store learns of it at the next flush
  script.setHost({ online: false });
  script.setHost({ online: true });
  script.clock.advance(60_000);
  expect(script.store.connection("task_1")).toEqual({ state: "rejected", reason: "no token" });
  expect(script.connections).toHaveLength(1);
  script.client.open();
  expect(script.lastConnection.request.tasks).toEqual([{ task_id: "task_1", after: 9 }]);
});

describe("a host", () => {
  test("without a network sets the state to offline; the client keeps trying, and reconnects when the network is back", async () => {
    const { script } = await followChatsAndTask(10);
    script.setHost({ online: false });
    expect(script.connections).toHaveLength(2); // because a stream over another network may never end
    script.lastConnection.handlers.onClosed("no network");
    expect(script.client.connection).toMatchObject({ state: "offline", reason: "no network" });
    script.clock.advance(200);
    expect(script.connections).toHaveLength(3);
    script.lastConnection.handlers.onClosed("no network");
    script.setHost({ online: true });
    expect(script.connections).toHaveLength(4);
    expect(script.client.connection).toEqual({ state: "connecting" });
  });

  test("that loses the network during an attempt starts another one, because the first may never fail", async () => {
    const script = new ScriptedClient();
    script.store.follow("task_1");
    script.client.open();
    await script.settle();
    expect(script.client.connection).toEqual({ state: "connecting" });
    const attempts = script.connections.length;
    script.setHost({});
    expect(script.connections).toHaveLength(attempts);
    const attempt = script.lastConnection;
    script.setHost({ online: false });
    expect(attempt.isClosed).toBe(true);
    expect(script.connections).toHaveLength(attempts + 1);
    script.lastConnection.handlers.onClosed("no network");
    expect(script.client.connection).toMatchObject({ state: "offline" });
  });

  test("that woke up from sleep causes a reconnect", async () => {
    const { script } = await followChatsAndTask(10);
    script.setHost({});
    expect(script.connections).toHaveLength(1);
    script.clock.advance(1300);
    script.setHost({});
    expect(script.connections).toHaveLength(2);
    expect(script.client.connection).toEqual({ state: "live" });
  });

  test("with a hidden page suspends the stream after a minute, until the page is shown", async () => {
    const { script } = await followChatsAndTask(10);
    script.setHost({ visible: false });
    for (let beat = 0; beat < 59; beat += 1) {
      script.clock.advance(1000);
      script.send(heartbeat);
    }
    expect(script.client.connection).toEqual({ state: "live" });
    script.clock.advance(1000);
    expect(script.client.connection).toEqual({ state: "suspended" });
    expect(script.lastConnection.isClosed).toBe(true);
    script.setHost({ online: false });
    script.setHost({ online: true });
    script.store.follow("task_2");
    await script.settle();
    expect(script.connections).toHaveLength(1);
    script.setHost({ visible: true });
    expect(script.lastConnection.request).toEqual({
      chats: { after: 4 },
      tasks: [
        { task_id: "task_1", after: 9 },
        { task_id: "task_2", after: undefined },
      ],
    });
  });
});

describe("the fetch transport", () => {
  type Reply = { status: number; text?: string; chunks?: string[] };

  /** Returns the requests of the transport and the reports to its handlers for this reply. */
  async function connect(reply: Reply | Error, token?: string) {
    const requests: { url: string; headers: Record<string, string> }[] = [];
    const reports: unknown[] = [];
    const transport: EventTransport = createFetchTransport(
      {
        AbortController,
        TextDecoder,
        async fetch(url, { headers }) {
          requests.push({ url, headers });
          if (reply instanceof Error) throw reply;
          const chunks = (reply.chunks ?? []).map((text) => new TextEncoder().encode(text));
          const read = async () => {
            const value = chunks.shift();
            return { done: value === undefined, value };
          };
          return {
            status: reply.status,
            text: async () => reply.text ?? "",
            body: reply.chunks === undefined ? null : { getReader: () => ({ read }) },
          };
        },
      },
      { baseUrl: "http://gateway", ...(token === undefined ? {} : { token }) },
    );
    await new Promise<void>((resolve) => {
      const end = (report: unknown) => {
        reports.push(report);
        resolve();
      };
      transport(
        {
          chats: { after: undefined },
          tasks: [
            { task_id: "a/b", after: 3 },
            { task_id: "c", after: undefined },
          ],
        },
        {
          onEvent: (event) => reports.push(event),
          onActivity: () => undefined,
          onClosed: (reason, cause) => end({ closed: reason, cause }),
          onRejected: (reason) => end({ rejected: reason }),
        },
      );
    });
    return { requests, reports };
  }

  test("sends all cursors in the URL and the token in a header", async () => {
    const { requests } = await connect({ status: 200, chunks: [] }, "secret");
    expect(requests).toEqual([
      {
        url: "http://gateway/api/events?chats=&task=a%2Fb:3&task=c",
        headers: { accept: "text/event-stream", authorization: "Bearer secret" },
      },
    ]);
  });

  test("reports the events regardless of chunk boundaries until the stream ends", async () => {
    const chunks = [
      'id: 1\ndata: {"type":"chats.he',
      'artbeat","head":1}\n\ndata: {"type":"x"}\n\n',
    ];
    const { reports } = await connect({ status: 200, chunks });
    expect(reports).toEqual([
      { type: "chats.heartbeat", head: 1 },
      { type: "x" },
      { closed: undefined, cause: undefined },
    ]);
  });

  test("reports a failed request as closed, but status 401 as rejected", async () => {
    const error = { code: "store_unavailable", message: "the store is in use" };
    const text = JSON.stringify({ error, reason: "store_in_use", detail: "by process 7" });
    const { reports } = await connect({ status: 503, text });
    expect(reports).toMatchObject([
      {
        closed: "the store is in use",
        cause: { code: "store_unavailable", detail: "by process 7" },
      },
    ]);
    const missing = JSON.stringify({ error: { code: "task_not_found", message: "none" } });
    expect((await connect({ status: 404, text: missing })).reports).toMatchObject([
      { type: "task.stream.rejected", task_id: "a/b", code: "task_not_found", message: "none" },
      {
        type: "task.stream.rejected",
        task_id: "c",
        code: "unknown",
        message: "unknown task",
      },
      { closed: "none" },
    ]);
    expect((await connect({ status: 401, text: "" })).reports).toEqual([
      { rejected: "the gateway responded with status 401" },
    ]);
    expect((await connect(new TypeError("fetch failed"))).reports).toEqual([
      { closed: "fetch failed", cause: undefined },
    ]);
    expect((await connect({ status: 200, chunks: ["data: not JSON\n\n"] })).reports).toMatchObject([
      { closed: expect.stringContaining("JSON") },
    ]);
  });
});
