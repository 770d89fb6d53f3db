import {
  ChatApiError,
  createChatClient,
  followChats,
  type ChatChange,
  type ChatFeedEvent,
  type ConnectChats,
  type FetchRequest,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";

/** A client of a server that always gives the same answer. */
function clientOf(status: number, text: string, token?: string) {
  const asked: (FetchRequest & { url: string })[] = [];
  const client = createChatClient({
    base: "http://gateway",
    ...(token === undefined ? {} : { token }),
    fetch: (url, request) => {
      asked.push({ url, ...request });
      const headers = { get: () => null };
      return Promise.resolve({ status, headers, text: () => Promise.resolve(text) });
    },
  });
  return { client, asked };
}

describe("the client of chats", () => {
  test("puts names and values into addresses so that they stay what they are", async () => {
    const { client, asked } = clientOf(200, "{}", "secret");
    await client.open("a/b?c");
    await client.list({ tag: "R&D", limit: 5 });
    await client.search("天气 &");
    await client.putBlob(new Uint8Array([1]), { mediaType: "image/png", filename: "a b.png" });
    await client.openSince("a/b", 7);
    await client.task("a/b");
    await client.approvals();
    expect(asked.map(({ url }) => url)).toEqual([
      "http://gateway/api/chats/a%2Fb%3Fc",
      "http://gateway/api/chats?tag=R%26D&limit=5",
      "http://gateway/api/chats?q=%E5%A4%A9%E6%B0%94%20%26",
      "http://gateway/api/blobs?filename=a%20b.png",
      "http://gateway/api/chats/a%2Fb?since=7",
      "http://gateway/api/tasks/a%2Fb",
      "http://gateway/api/approvals",
    ]);
    expect(asked.every(({ headers }) => headers["authorization"] === "Bearer secret")).toBe(true);
    expect(asked[3]).toMatchObject({ method: "POST", headers: { "content-type": "image/png" } });
  });

  test("says to the task of an answer what a person decides and says", async () => {
    const { client, asked } = clientOf(200, "{}");
    await client.decide("appr/1", { decision: "approve", scope: "session", arguments: { a: 1 } });
    await client.steer("task_1", "shorter");
    await client.steer("task_1", "and then?", "queue");
    await client.cancelTask("task_1");
    await client.cancelTask("task_1", { reason: "enough" });
    expect(asked.map(({ method, url, body }) => [method, url, JSON.parse(String(body))])).toEqual([
      [
        "POST",
        "http://gateway/api/approvals/appr%2F1",
        { decision: "approve", scope: "session", arguments: { a: 1 } },
      ],
      ["POST", "http://gateway/api/tasks/task_1/input", { input: "shorter", delivery: "steer" }],
      ["POST", "http://gateway/api/tasks/task_1/input", { input: "and then?", delivery: "queue" }],
      ["POST", "http://gateway/api/tasks/task_1/cancel", {}],
      ["POST", "http://gateway/api/tasks/task_1/cancel", { reason: "enough" }],
    ]);
  });

  test("throws what the gateway refuses, with all that it says", async () => {
    const { client } = clientOf(
      409,
      JSON.stringify({
        revision: 7,
        stamp: 9,
        error: { code: "conflict", message: "it has changed", param: null },
      }),
    );
    const refused = client.edits("c", { revision: 6, edits: [] });
    await expect(refused).rejects.toBeInstanceOf(ChatApiError);
    await expect(refused).rejects.toMatchObject({
      status: 409,
      code: "conflict",
      message: "it has changed",
      param: undefined,
      revision: 7,
      stamp: 9,
    });
  });

  test.each([
    [502, "<html>Bad gateway</html>", { status: 502, code: "unknown" }],
    [500, "null", { status: 500, code: "unknown" }],
    [200, "<html>Log in</html>", { status: 200, code: "unreadable" }],
  ])("throws for a status of %i with %s", async (status, text, error) => {
    await expect(clientOf(status, text).client.list()).rejects.toMatchObject(error);
  });

  test("throws where nobody answers", async () => {
    const client = createChatClient({
      base: "",
      fetch: () => Promise.reject(new TypeError("fetch failed")),
    });
    await expect(client.list()).rejects.toMatchObject({ status: 0, code: "unreachable" });
  });
});

describe("following the changes of chats", () => {
  const opened = (head: number): ChatFeedEvent => ({
    type: "chats.opened",
    head,
    heartbeat_ms: 1000,
  });
  const removed = (stamp: number): ChatChange => ({
    type: "chat.removed",
    stamp,
    chat_id: `chat_${stamp}`,
  });

  function script(after?: number) {
    const asked: (number | undefined)[] = [];
    const told: string[] = [];
    const timers = new Map<number, { ms: number; run: () => void }>();
    let line: Parameters<ConnectChats>[1] | undefined;
    let number = 0;
    let openStreams = 0;
    const followed = followChats(
      (stamp, handlers) => {
        asked.push(stamp);
        line = handlers;
        openStreams += 1;
        return { close: () => (openStreams -= 1) };
      },
      {
        change: ({ stamp }) => told.push(`change ${stamp}`),
        reset: () => told.push("reset"),
      },
      {
        ...(after === undefined ? {} : { after }),
        schedule(ms, run) {
          const id = (number += 1);
          timers.set(id, { ms, run });
          return () => timers.delete(id);
        },
      },
    );
    return {
      asked,
      told,
      followed,
      open: () => openStreams,
      timers: () => timers.size,
      send: (...events: (ChatFeedEvent | ChatChange)[]) => {
        for (const event of events) line?.event(event);
      },
      cut: () => line?.closed(),
      refuse: () => line?.refused("no token"),
      /** What is due at once happens, and then the one thing that is waited for. */
      pass: () => {
        const due = [...timers].filter(([, { ms }]) => ms === 0);
        for (const [id, { run }] of due) {
          timers.delete(id);
          run();
        }
        const [[id, waited] = []] = timers;
        if (id !== undefined) timers.delete(id);
        waited?.run();
      },
    };
  }

  test("comes back with the last stamp that was told", () => {
    const { asked, told, send, cut, pass, followed, open, timers } = script();
    expect(followed.connection).toEqual({ state: "connecting" });
    send(opened(4), removed(5), removed(7));
    expect(followed).toMatchObject({ stamp: 7, connection: { state: "live" } });
    cut();
    expect(followed.connection.state).toBe("waiting");
    pass();
    send(opened(7));
    expect(asked).toEqual([undefined, 7]);
    expect(told).toEqual(["change 5", "change 7"]);
    followed.close();
    expect([open(), timers()]).toEqual([0, 0]);
  });

  test("comes back to where it began when it has heard of no change", () => {
    const { asked, send, cut, pass } = script();
    send(opened(4));
    cut();
    pass();
    expect(asked).toEqual([undefined, 4]);
  });

  test("is told to read the list anew, and goes on from there", () => {
    const { asked, told, send, cut, pass } = script(99);
    send(opened(4), { type: "chats.reset", head: 4 });
    cut();
    pass();
    expect(told).toEqual(["reset"]);
    expect(asked).toEqual([99, 4]);
  });

  test("takes silence for an end, and a refusal for the last word", () => {
    const { asked, send, pass, refuse, followed, timers } = script(1);
    send(opened(1), { type: "chats.heartbeat", head: 1 });
    pass();
    expect(followed.connection).toEqual({
      state: "waiting",
      reason: "nothing was heard for 2500 ms",
    });
    pass();
    expect(asked).toEqual([1, 1]);
    refuse();
    expect(followed.connection).toEqual({ state: "refused", reason: "no token" });
    expect(timers()).toBe(0);
  });

  test("skips a word that is not known yet", () => {
    const { told, send } = script(1);
    send(opened(1), { type: "chats.sung" } as never, removed(2));
    expect(told).toEqual(["change 2"]);
  });
});
