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

/** Creates a client of a server that always sends the same response. */
function createTestClient(status: number, text: string, token?: string) {
  const requests: (FetchRequest & { url: string })[] = [];
  const client = createChatClient({
    baseUrl: "http://gateway",
    ...(token === undefined ? {} : { token }),
    fetch: (url, request) => {
      requests.push({ url, ...request });
      const headers = { get: () => null };
      return Promise.resolve({ status, headers, text: () => Promise.resolve(text) });
    },
  });
  return { client, requests };
}

describe("the chat client", () => {
  test("encodes ids and query values in URLs", async () => {
    const { client, requests } = createTestClient(200, "{}", "secret");
    await client.get("a/b?c");
    await client.list({ tag: "R&D", limit: 5 });
    await client.search("天气 &");
    await client.putBlob(new Uint8Array([1]), { mediaType: "image/png", filename: "a b.png" });
    await client.getSince("a/b", 7);
    await client.task("a/b");
    await client.approvals();
    expect(requests.map(({ url }) => url)).toEqual([
      "http://gateway/api/chats/a%2Fb%3Fc",
      "http://gateway/api/chats?tag=R%26D&limit=5",
      "http://gateway/api/chats?q=%E5%A4%A9%E6%B0%94%20%26",
      "http://gateway/api/blobs?filename=a%20b.png",
      "http://gateway/api/chats/a%2Fb?since=7",
      "http://gateway/api/tasks/a%2Fb",
      "http://gateway/api/approvals",
    ]);
    expect(requests.every(({ headers }) => headers["authorization"] === "Bearer secret")).toBe(
      true,
    );
    expect(requests[3]).toMatchObject({ method: "POST", headers: { "content-type": "image/png" } });
  });

  test("sends decisions and user inputs to the task of an answer", async () => {
    const { client, requests } = createTestClient(200, "{}");
    await client.decide("appr/1", { decision: "approve", scope: "session", arguments: { a: 1 } });
    await client.steer("task_1", "shorter");
    await client.steer("task_1", "and then?", "queue");
    await client.cancelTask("task_1");
    await client.cancelTask("task_1", { reason: "enough" });
    expect(
      requests.map(({ method, url, body }) => [method, url, JSON.parse(String(body))]),
    ).toEqual([
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

  test("throws the error of the gateway with all of its fields", async () => {
    const { client } = createTestClient(
      409,
      JSON.stringify({
        revision: 7,
        stamp: 9,
        error: { code: "conflict", message: "it has changed", param: null },
      }),
    );
    const request = client.applyEdits("c", { revision: 6, edits: [] });
    await expect(request).rejects.toBeInstanceOf(ChatApiError);
    await expect(request).rejects.toMatchObject({
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
  ])("throws an error for the status %i and the body %s", async (status, text, error) => {
    await expect(createTestClient(status, text).client.list()).rejects.toMatchObject(error);
  });

  test("throws if the gateway cannot be reached", async () => {
    const client = createChatClient({
      baseUrl: "",
      fetch: () => Promise.reject(new TypeError("fetch failed")),
    });
    await expect(client.list()).rejects.toMatchObject({ status: 0, code: "unreachable" });
  });
});

describe("followChats", () => {
  const openedEvent = (head: number): ChatFeedEvent => ({
    type: "chats.opened",
    head,
    heartbeat_ms: 1000,
  });
  const removedChange = (stamp: number): ChatChange => ({
    type: "chat.removed",
    stamp,
    chat_id: `chat_${stamp}`,
  });

  function followWithFakeStreams(after?: number) {
    const requests: (number | undefined)[] = [];
    const reports: string[] = [];
    const timers = new Map<number, { ms: number; run: () => void }>();
    let lastHandlers: Parameters<ConnectChats>[1] | undefined;
    let lastTimerId = 0;
    let openStreams = 0;
    const subscription = followChats(
      (stamp, handlers) => {
        requests.push(stamp);
        lastHandlers = handlers;
        openStreams += 1;
        return { close: () => (openStreams -= 1) };
      },
      {
        onChange: ({ stamp }) => reports.push(`change ${stamp}`),
        onReset: () => reports.push("reset"),
      },
      {
        ...(after === undefined ? {} : { after }),
        schedule(ms, run) {
          const id = (lastTimerId += 1);
          timers.set(id, { ms, run });
          return () => timers.delete(id);
        },
      },
    );
    return {
      requests,
      reports,
      subscription,
      open: () => openStreams,
      timers: () => timers.size,
      send: (...events: (ChatFeedEvent | ChatChange)[]) => {
        for (const event of events) lastHandlers?.onEvent(event);
      },
      closeStream: () => lastHandlers?.onClosed(),
      reject: () => lastHandlers?.onRejected("no token"),
      /** Runs all timers of 0 ms, and then the next timer that remains. */
      runTimers: () => {
        const due = [...timers].filter(([, { ms }]) => ms === 0);
        for (const [id, { run }] of due) {
          timers.delete(id);
          run();
        }
        const [[id, nextTimer] = []] = timers;
        if (id !== undefined) timers.delete(id);
        nextTimer?.run();
      },
    };
  }

  test("reconnects with the last received stamp", () => {
    const { requests, reports, send, closeStream, runTimers, subscription, open, timers } =
      followWithFakeStreams();
    expect(subscription.connection).toEqual({ state: "connecting" });
    send(openedEvent(4), removedChange(5), removedChange(7));
    expect(subscription).toMatchObject({ stamp: 7, connection: { state: "live" } });
    closeStream();
    expect(subscription.connection.state).toBe("waiting");
    runTimers();
    send(openedEvent(7));
    expect(requests).toEqual([undefined, 7]);
    expect(reports).toEqual(["change 5", "change 7"]);
    subscription.close();
    expect([open(), timers()]).toEqual([0, 0]);
  });

  test("reconnects with the stamp of the first connection if there was no change", () => {
    const { requests, send, closeStream, runTimers } = followWithFakeStreams();
    send(openedEvent(4));
    closeStream();
    runTimers();
    expect(requests).toEqual([undefined, 4]);
  });

  test("reports a reset and continues from the new head", () => {
    const { requests, reports, send, closeStream, runTimers } = followWithFakeStreams(99);
    send(openedEvent(4), { type: "chats.reset", head: 4 });
    closeStream();
    runTimers();
    expect(reports).toEqual(["reset"]);
    expect(requests).toEqual([99, 4]);
  });

  test("reconnects if nothing arrives, but not after a rejection", () => {
    const { requests, send, runTimers, reject, subscription, timers } = followWithFakeStreams(1);
    send(openedEvent(1), { type: "chats.heartbeat", head: 1 });
    runTimers();
    expect(subscription.connection).toEqual({
      state: "waiting",
      reason: "no data for 2500 ms",
    });
    runTimers();
    expect(requests).toEqual([1, 1]);
    reject();
    expect(subscription.connection).toEqual({ state: "rejected", reason: "no token" });
    expect(timers()).toBe(0);
  });

  test("ignores events of unknown types", () => {
    const { reports, send } = followWithFakeStreams(1);
    send(openedEvent(1), { type: "chats.unknown" } as never, removedChange(2));
    expect(reports).toEqual(["change 2"]);
  });
});
