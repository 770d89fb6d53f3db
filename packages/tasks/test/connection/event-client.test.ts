import {
  emptyTree,
  eventsOverFetch,
  reduce,
  type EventTransport,
  type TaskEvent,
} from "@deltawire/tasks";
import { followChats, type ChatChange, type ChatFeedEvent } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { sampleLog } from "../sample-log.ts";
import { opened, snapshotAfter } from "../scripted-stream.ts";
import { ScriptedClient } from "./scripted-transport.ts";

const after = (count: number) => reduce(emptyTree, sampleLog.slice(0, count));
const chatsOpened = (head = 4): ChatFeedEvent => ({
  type: "chats.opened",
  head,
  heartbeat_ms: 1000,
});
const heartbeat: ChatFeedEvent = { type: "chats.heartbeat", head: 4 };
const reset: ChatFeedEvent = { type: "chats.reset", head: 2 };
const removed = (stamp: number): ChatChange => ({ type: "chat.removed", stamp, chat_id: "chat_1" });

/** A client that follows the chats and the sample task, and has received the first events of it. */
async function following(count: number) {
  const script = new ScriptedClient();
  const changes: string[] = [];
  script.client.open();
  const chats = followChats(script.client, {
    change: ({ stamp }) => changes.push(`change ${stamp}`),
    reset: () => changes.push("reset"),
  });
  script.store.follow("task_1", { after: -1 });
  await script.settle();
  script.send(chatsOpened(), opened(), ...sampleLog.slice(0, count));
  return { script, chats, changes };
}

describe("one connection", () => {
  test("asks in one request for all that is followed in one turn, and again from where each of it is", async () => {
    const { script } = await following(20);
    expect(script.openings.map(({ request }) => request)).toEqual([
      { chats: { after: undefined }, tasks: [{ task_id: "task_1", after: -1 }] },
    ]);
    script.send(removed(7));
    script.store.follow("task_2");
    await script.settle();
    expect(script.last.request).toEqual({
      chats: { after: 7 },
      tasks: [
        { task_id: "task_1", after: 19 },
        { task_id: "task_2", after: undefined },
      ],
    });
    expect(script.openings.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect(script.client.connection).toEqual({ state: "live" });
    script.store.unfollow("task_2");
    await script.settle();
    expect(script.last.request.tasks).toEqual([{ task_id: "task_1", after: 19 }]);
  });

  test("gives the events of sub-agents to the task that they belong to, also after a snapshot", async () => {
    const { script } = await following(20);
    script.store.follow("task_2");
    await script.settle();
    expect(sampleLog.slice(20).some(({ task_id }) => task_id === "call_1")).toBe(true);
    script.send(snapshotAfter(30), ...sampleLog.slice(30));
    expect(script.store.tree("task_1")).toEqual(after(sampleLog.length));
    expect(script.store.tree("task_2")).toBeUndefined();
  });

  test("gives events of a task that was left to nobody", async () => {
    const { script } = await following(10);
    script.store.follow("task_2");
    script.store.unfollow("task_1");
    script.send(...sampleLog.slice(10, 12));
    expect(script.store.tree("task_1")).toBeUndefined();
    expect(script.store.connection("task_2")?.state).toBe("live");
  });

  test("ignores events that it has seen", async () => {
    const { script } = await following(20);
    const tree = script.store.tree("task_1");
    script.send(...sampleLog.slice(5, 20));
    expect(script.store.tree("task_1")).toBe(tree);
    expect(script.openings).toHaveLength(1);
  });

  test("is not opened anew for a task that has ended, nor when that is let go", async () => {
    const { script } = await following(sampleLog.length);
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    script.store.unfollow("task_1");
    await script.settle();
    expect(script.openings).toHaveLength(1);
    script.last.handlers.closed();
    script.clock.pass(200);
    expect(script.last.request).toEqual({ chats: { after: 4 }, tasks: [] });
  });

  test("takes turns where more is followed than the gateway takes on one connection", () => {
    const script = new ScriptedClient();
    const ids = Array.from({ length: 150 }, (_, index) => `task_${index}`);
    for (const id of ids) script.store.follow(id);
    script.client.open();
    const asked = () => script.last.request.tasks.map(({ task_id }) => task_id);
    expect(asked()).toEqual(ids.slice(50));
  });

  test("comes with those that waited when their turn has come", async () => {
    const script = new ScriptedClient();
    const ids = Array.from({ length: 150 }, (_, index) => `task_${index}`);
    for (const id of ids) script.store.follow(id);
    script.client.open();
    script.clock.pass(18_000);
    await script.settle();
    expect(script.last.request.tasks.map(({ task_id }) => task_id)).toEqual([
      ...ids.slice(100),
      ...ids.slice(0, 50),
    ]);
  });

  test("leaves nothing open and no timer behind", async () => {
    const { script, chats } = await following(10);
    chats.close();
    script.store.close();
    expect(script.client.connection).toEqual({ state: "idle" });
    expect(script.last.isClosed).toBe(true);
    script.client.close();
    expect(script.clock.timers).toBe(0);
  });
});

describe("a task of which events are missing", () => {
  test("is asked for anew, and the others go on meanwhile", async () => {
    const { script, changes } = await following(10);
    script.send(sampleLog[12] as TaskEvent, removed(5));
    expect(script.store.connection("task_1")).toMatchObject({ state: "waiting" });
    expect(script.client.connection).toEqual({ state: "live" });
    script.clock.pass(199);
    expect(script.openings).toHaveLength(1);
    script.clock.pass(1);
    expect(script.last.request).toEqual({
      chats: { after: 5 },
      tasks: [{ task_id: "task_1", after: undefined }],
    });
    script.send(opened(), snapshotAfter(30));
    expect(script.store.tree("task_1")).toEqual(after(30));
    expect(changes).toEqual(["change 5"]);
  });

  test("is asked for anew where a restarted server went on from before them", async () => {
    const { script } = await following(10);
    script.last.handlers.closed("reset by peer");
    script.clock.pass(200);
    expect(script.last.request.tasks).toEqual([{ task_id: "task_1", after: 9 }]);
    script.send(chatsOpened(), opened({ epoch: 1, recovered_at: 5 }));
    script.clock.pass(200);
    expect(script.last.request.tasks).toEqual([{ task_id: "task_1", after: undefined }]);
  });

  test("is not asked for without end", async () => {
    const { script } = await following(10);
    for (let times = 0; times < 600; times += 1) {
      script.send(chatsOpened(), opened(), sampleLog[12] as TaskEvent);
      script.clock.pass(100);
    }
    expect(script.openings.length).toBeLessThan(15);
  });

  test("that the gateway does not know is not asked for again", async () => {
    const { script } = await following(10);
    const message = "there is no such task";
    script.send({ type: "task.stream.refused", task_id: "task_1", code: "not_found", message });
    expect(script.store.connection("task_1")).toEqual({ state: "refused", reason: message });
    script.last.handlers.closed();
    script.clock.pass(200);
    expect(script.last.request.tasks).toEqual([]);
  });
});

test("chats whose cursor is gone are read anew, and go on from there", async () => {
  const { script, changes } = await following(10);
  script.last.handlers.closed();
  script.clock.pass(200);
  script.send(chatsOpened(2), reset);
  script.last.handlers.closed();
  script.clock.pass(400);
  expect(changes).toEqual(["reset"]);
  expect(script.last.request.chats).toEqual({ after: 2 });
});

describe("a connection that is lost", () => {
  test("is opened again after waits that grow to ten seconds", async () => {
    const { script } = await following(10);
    const waits: number[] = [];
    for (let times = 0; times < 8; times += 1) {
      script.last.handlers.closed("gone");
      const { retryAt = 0, reason } = script.client.connection;
      expect(reason).toBe("gone");
      waits.push(retryAt - script.clock.now);
      script.clock.pass(retryAt - script.clock.now);
      expect(script.client.connection).toEqual({ state: "connecting" });
    }
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  test("waits briefly again after one that lived for five seconds, or brought something new", async () => {
    const { script } = await following(10);
    const waitAfter = () => {
      script.last.handlers.closed();
      const { retryAt = 0 } = script.client.connection;
      const wait = retryAt - script.clock.now;
      script.clock.pass(wait);
      return wait;
    };
    expect([waitAfter(), waitAfter()]).toEqual([200, 400]);
    script.send(chatsOpened());
    for (let beat = 0; beat < 5; beat += 1) {
      script.clock.pass(1000);
      script.last.handlers.activity();
      script.clock.pass();
    }
    expect([waitAfter(), waitAfter()]).toEqual([200, 400]);
    script.send(chatsOpened(), removed(5));
    expect([waitAfter(), waitAfter()]).toEqual([200, 400]);
    script.send(chatsOpened(), heartbeat);
    expect(waitAfter()).toBe(200);
  });

  test("is given up when nothing comes for two and a half heartbeats, and not while bytes arrive", async () => {
    const { script } = await following(10);
    for (let times = 0; times < 10; times += 1) {
      script.clock.pass(2400);
      script.last.handlers.activity();
      script.clock.pass();
    }
    expect(script.openings).toHaveLength(1);
    script.clock.pass(2500);
    expect(script.client.connection).toMatchObject({
      state: "waiting",
      reason: "nothing was heard for 2500 ms",
    });
    expect(script.last.isClosed).toBe(true);
  });

  test("is opened at once when somebody does not want to wait", async () => {
    const { script } = await following(10);
    script.last.handlers.closed();
    script.client.retryNow();
    expect(script.openings).toHaveLength(2);
    script.client.retryNow();
    expect(script.openings).toHaveLength(2);
  });

  test("keeps what is followed meanwhile for the next try", async () => {
    const { script } = await following(10);
    script.last.handlers.closed();
    script.store.follow("task_2");
    await script.settle();
    expect(script.openings).toHaveLength(1);
    script.clock.pass(200);
    expect(script.last.request.tasks.map(({ task_id }) => task_id)).toEqual(["task_1", "task_2"]);
  });

  test("reports what the transport said of it", async () => {
    const { script } = await following(10);
    const cause = new Error("503");
    script.last.handlers.closed("no store", cause);
    expect(script.client.connection).toMatchObject({ state: "waiting", reason: "no store", cause });
  });
});

test("a session that has expired is tried again only when somebody opens it, from where it was", async () => {
  const { script } = await following(10);
  script.last.handlers.refused("no token");
  expect(script.client.connection).toEqual({ state: "refused", reason: "no token" });
  expect(script.store.connection("task_1")).toEqual({ state: "live" }); // until the next flush
  script.turn({ online: false });
  script.turn({ online: true });
  script.clock.pass(60_000);
  expect(script.store.connection("task_1")).toEqual({ state: "refused", reason: "no token" });
  expect(script.openings).toHaveLength(1);
  script.client.open();
  expect(script.last.request.tasks).toEqual([{ task_id: "task_1", after: 9 }]);
});

describe("a machine", () => {
  test("without a network is said to be so, is tried all the same, and at once when the network is back", async () => {
    const { script } = await following(10);
    script.turn({ online: false });
    expect(script.openings).toHaveLength(2); // a stream over another network may never end
    script.last.handlers.closed("no network");
    expect(script.client.connection).toMatchObject({ state: "offline", reason: "no network" });
    script.clock.pass(200);
    expect(script.openings).toHaveLength(3);
    script.last.handlers.closed("no network");
    script.turn({ online: true });
    expect(script.openings).toHaveLength(4);
    expect(script.client.connection).toEqual({ state: "connecting" });
  });

  test("that slept opens a stream anew when it wakes, one that did not keeps it", async () => {
    const { script } = await following(10);
    script.turn({});
    expect(script.openings).toHaveLength(1);
    script.clock.pass(1300);
    script.turn({});
    expect(script.openings).toHaveLength(2);
    expect(script.client.connection).toEqual({ state: "live" });
  });

  test("on which nobody looks lets the stream go after a minute, and comes back where it was", async () => {
    const { script } = await following(10);
    script.turn({ visible: false });
    for (let beat = 0; beat < 59; beat += 1) {
      script.clock.pass(1000);
      script.send(heartbeat);
    }
    expect(script.client.connection).toEqual({ state: "live" });
    script.clock.pass(1000);
    expect(script.client.connection).toEqual({ state: "suspended" });
    expect(script.last.isClosed).toBe(true);
    script.turn({ online: false });
    script.turn({ online: true });
    script.store.follow("task_2");
    await script.settle();
    expect(script.openings).toHaveLength(1);
    script.turn({ visible: true });
    expect(script.last.request).toEqual({
      chats: { after: 4 },
      tasks: [
        { task_id: "task_1", after: 9 },
        { task_id: "task_2", after: undefined },
      ],
    });
  });
});

describe("over fetch", () => {
  type Reply = { status: number; text?: string; chunks?: string[] };

  /** What the transport reports for a reply, and what it asked for. */
  async function reports(reply: Reply | Error, token?: string) {
    const asked: { url: string; headers: Record<string, string> }[] = [];
    const seen: unknown[] = [];
    const transport: EventTransport = eventsOverFetch(
      {
        AbortController,
        TextDecoder,
        async fetch(url, { headers }) {
          asked.push({ url, headers });
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
      { base: "http://gateway", ...(token === undefined ? {} : { token }) },
    );
    await new Promise<void>((resolve) => {
      const end = (what: unknown) => {
        seen.push(what);
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
          event: (event) => seen.push(event),
          activity: () => undefined,
          closed: (reason, cause) => end({ closed: reason, cause }),
          refused: (reason) => end({ refused: reason }),
        },
      );
    });
    return { asked, seen };
  }

  test("all cursors are in the address, and the token in its header", async () => {
    const { asked } = await reports({ status: 200, chunks: [] }, "secret");
    expect(asked).toEqual([
      {
        url: "http://gateway/api/events?chats=&task=a%2Fb:3&task=c",
        headers: { accept: "text/event-stream", authorization: "Bearer secret" },
      },
    ]);
  });

  test("events come out, wherever the bytes were cut, until the gateway ends the stream", async () => {
    const chunks = [
      'id: 1\ndata: {"type":"chats.he',
      'artbeat","head":1}\n\ndata: {"type":"x"}\n\n',
    ];
    const { seen } = await reports({ status: 200, chunks });
    expect(seen).toEqual([
      { type: "chats.heartbeat", head: 1 },
      { type: "x" },
      { closed: undefined, cause: undefined },
    ]);
  });

  test("a reply that is no stream is a reason to try again, but for 401", async () => {
    const error = { code: "store_unavailable", message: "the store is in use" };
    const text = JSON.stringify({ error, reason: "store_in_use", detail: "by process 7" });
    const { seen } = await reports({ status: 503, text });
    expect(seen).toMatchObject([
      {
        closed: "the store is in use",
        cause: { code: "store_unavailable", detail: "by process 7" },
      },
    ]);
    const missing = JSON.stringify({ error: { code: "task_not_found", message: "none" } });
    expect((await reports({ status: 404, text: missing })).seen).toMatchObject([
      { type: "task.stream.refused", task_id: "a/b", message: "none" },
      { type: "task.stream.refused", task_id: "c", message: "none" },
      { closed: "none" },
    ]);
    expect((await reports({ status: 401, text: "" })).seen).toEqual([
      { refused: "the gateway answered with status 401" },
    ]);
    expect((await reports(new TypeError("fetch failed"))).seen).toEqual([
      { closed: "fetch failed", cause: undefined },
    ]);
    expect((await reports({ status: 200, chunks: ["data: no JSON\n\n"] })).seen).toMatchObject([
      { closed: expect.stringContaining("JSON") },
    ]);
  });
});
