import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  followChats,
  type ChatChange,
  type ChatClient,
  type ChatFeedEvent,
  type ConnectChats,
} from "@deltawire/tasks/chats";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChatStreamWriter } from "../src/tasks/streams/chat-stream-writer.ts";
import { answeredChat, chatGatewayFixture, FeedReader, waitUntilSettled } from "./chat-fixture.ts";
import { sleep, waitUntil } from "./gateway-fixture.ts";

const createReader = (url: string, query = "", headers: object = {}): FeedReader =>
  new FeedReader(`${url}/api/chats/events${query}`, { headers });

async function waitUntilOpen(reader: FeedReader): Promise<FeedReader> {
  await reader.waitUntil("the opening", ({ frames }) => frames.length > 0);
  return reader;
}

const rename = async (client: ChatClient, id: string, title: string): Promise<number> => {
  const { revision } = (await client.get(id)).chat;
  return (await client.applyEdits(id, { revision, edits: [{ type: "rename", title }] })).stamp;
};

test("two tabs get each other's changes from the moment they connect", async () => {
  const { client, url } = await chatGatewayFixture();
  const { chat } = await client.create({ title: "Before" });
  const tabs = [await waitUntilOpen(createReader(url)), await waitUntilOpen(createReader(url))];
  for (const tab of tabs) {
    expect(tab.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(tab.frames).toEqual([
      { id: "1", event: { type: "chats.opened", head: 1, heartbeat_ms: 15_000 } },
    ]);
  }
  const stamp = await rename(client, chat.chat_id, "After");
  await client.remove(chat.chat_id);
  await client.remove(chat.chat_id, { forever: true });
  for (const tab of tabs) {
    await tab.waitUntil("the removal", ({ types }) => types.includes("chat.removed"));
    const [, renamed] = tab.frames;
    expect(renamed?.id).toBe(String(stamp));
    expect(renamed?.event).toMatchObject({ type: "chat.changed", chat: { title: "After" } });
    expect(tab.frames.at(-1)).toMatchObject({ event: { chat_id: chat.chat_id } });
    const ids = tab.frames.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
});

test("an answer is reported when it starts and when it ends", async () => {
  const { client, url } = await chatGatewayFixture();
  const reader = await waitUntilOpen(createReader(url));
  const { id } = await answeredChat(client);
  await reader.waitUntil("the end", ({ frames }) => frames.length >= 4);
  const countApprovalEvents = reader.frames.flatMap(({ event }) =>
    event.type === "chat.changed" ? [[event.chat.chat_id, event.chat.running]] : [],
  );
  expect(countApprovalEvents.at(0)).toEqual([id, 0]);
  expect(countApprovalEvents).toContainEqual([id, 1]);
  expect(countApprovalEvents.at(-1)).toEqual([id, 0]);
});

describe("a client that reconnects", () => {
  test("with the last stamp gets the latest change of each chat since then, and then new changes", async () => {
    const { client, url } = await chatGatewayFixture();
    const [one, two, three] = [await client.create(), await client.create(), await client.create()];
    for (const title of ["a", "b", "c"]) await rename(client, two.chat.chat_id, title);
    await client.remove(three.chat.chat_id, { forever: true });
    const byQuery = createReader(url, `?after=${one.stamp}`);
    const byHeader = createReader(url, "?after=0", { "last-event-id": String(one.stamp) });
    for (const reader of [byQuery, byHeader]) {
      await reader.waitUntil("the removal", ({ types }) => types.includes("chat.removed"));
      expect(reader.frames[0]?.id).toBeUndefined();
      expect(reader.changedChatIds).toEqual([two.chat.chat_id, three.chat.chat_id]);
      expect(reader.frames[1]?.event).toMatchObject({ chat: { title: "c" } });
    }
    await rename(client, one.chat.chat_id, "d");
    await byQuery.waitUntil("the new event", ({ changedChatIds }) => changedChatIds.length === 3);
    expect(byQuery.changedChatIds.at(-1)).toBe(one.chat.chat_id);
  });

  test("after it received only the opening event misses nothing", async () => {
    const { client, url } = await chatGatewayFixture();
    const { chat } = await client.create();
    const reader = await waitUntilOpen(createReader(url));
    const { lastId } = reader;
    reader.disconnect();
    await rename(client, chat.chat_id, "x");
    const back = createReader(url, "", { "last-event-id": lastId });
    await back.waitUntil("the change", ({ changedChatIds }) => changedChatIds.length === 1);
    expect(back.changedChatIds).toEqual([chat.chat_id]);
  });

  test.each([
    ["ahead of all changes", "99"],
    ["far ahead of all changes", "999999999999999"],
  ])("with a stamp %s must reload the list", async (_what, after) => {
    const { client, url } = await chatGatewayFixture();
    const { chat, stamp } = await client.create();
    const reader = createReader(url, `?after=${after}`);
    await reader.waitUntil("the reset", ({ frames }) => frames.length === 2);
    expect(reader.frames[1]).toEqual({
      id: String(stamp),
      event: { type: "chats.reset", head: stamp },
    });
    await rename(client, chat.chat_id, "x");
    await reader.waitUntil("the new event", ({ changedChatIds }) => changedChatIds.length === 1);
  });

  test.each(["-1", "x", "1.5", ""])("with %j as a stamp is rejected", async (after) => {
    const { url } = await chatGatewayFixture();
    const response = await fetch(`${url}/api/chats/events?after=${after}`);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: "after" } },
    ]);
  });
});

test("a client whose stamp is too old or in the future must reload the list", async () => {
  const opening = async (after: number): Promise<string[]> => {
    const written: string[] = [];
    const follower = new ChatStreamWriter(
      {
        store: {
          getChatStamps: () => Promise.resolve({ head: 9, oldest: 5 }),
          listChatChanges: () => Promise.resolve([]),
        },
        subscribe: () => () => undefined,
        subscribePending: () => () => undefined,
      },
      { owner: "", after, heartbeatMs: 15_000, formatId: (stamp) => stamp },
      { write: (text) => written.push(text), wake: () => undefined },
    );
    await follower.writeNext();
    return written.join("").match(/chats\.\w+/g) ?? [];
  };
  expect(await opening(4)).toEqual(["chats.opened", "chats.reset"]);
  expect(await opening(5)).toEqual(["chats.opened"]);
  expect(await opening(9)).toEqual(["chats.opened"]);
  expect(await opening(10)).toEqual(["chats.opened", "chats.reset"]);
});

test("each requested and each resolved approval is reported, even while the chat keeps waiting", async () => {
  const { client, url } = await chatGatewayFixture();
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  const reader = createReader(url, "");
  const countApprovalEvents = () =>
    reader.types.filter((type) => type === "approvals.changed").length;
  const pending = async () => (await client.approvals()).data;
  await reader.waitUntil("the opening", ({ types }) => types.length > 0);
  await client.send(chat.chat_id, { text: 'send_message to Bob: "a", open_private_note "keys"' });
  for (let seen = 0; (await pending()).length < 2; seen = countApprovalEvents())
    await reader.waitUntil("a question", () => countApprovalEvents() > seen);
  for (const { approval } of await pending()) {
    const seen = countApprovalEvents();
    await client.decide(approval.approval_id, { decision: "deny" });
    await reader.waitUntil("the decision", () => countApprovalEvents() > seen);
  }
  await waitUntilSettled(client, chat.chat_id);
  expect(await pending()).toEqual([]);
});

test("a silence is filled with heartbeats, which do not move the cursor", async () => {
  const { client, url } = await chatGatewayFixture({ tickMs: 2 });
  const { stamp } = await client.create();
  const reader = createReader(url, `?after=${stamp}`);
  await reader.waitUntil("two", ({ types }) => types.length >= 3);
  expect(reader.frames.slice(0, 3)).toEqual([
    { id: undefined, event: { type: "chats.opened", head: stamp, heartbeat_ms: 30 } },
    { id: undefined, event: { type: "chats.heartbeat", head: stamp } },
    { id: undefined, event: { type: "chats.heartbeat", head: stamp } },
  ]);
});

test("the feed ends immediately when the gateway stops", async () => {
  const { gateway, url } = await chatGatewayFixture();
  const reader = await waitUntilOpen(createReader(url));
  const startedAt = Date.now();
  await gateway.drain();
  await reader.waitUntilEnd();
  expect(Date.now() - startedAt).toBeLessThan(5000);
});

test("after a restart clients continue from their stamp, and a repeated key does not send again", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "chats-http-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatGatewayFixture({ dataFolder });
  const { chat, stamp } = await first.client.create();
  const body = { text: "Hello" };
  const sent = await first.client.send(chat.chat_id, body, { idempotencyKey: "k" });
  await waitUntilSettled(first.client, chat.chat_id);
  await first.gateway.close();
  const { client, url } = await chatGatewayFixture({ dataFolder });
  const reader = createReader(url, `?after=${stamp}`);
  await reader.waitUntil("the change", ({ changedChatIds }) => changedChatIds.length === 1);
  expect(reader.types).toEqual(["chats.opened", "chat.changed"]);
  const repeated = await client.send(chat.chat_id, body, { idempotencyKey: "k" });
  expect(repeated.task_id).toBe(sent.task_id);
  expect(Object.keys((await client.get(chat.chat_id)).chat.nodes)).toHaveLength(2);
});

test("HEAD returns the headers and ends", async () => {
  const { url } = await chatGatewayFixture();
  const response = await fetch(`${url}/api/chats/events`, { method: "HEAD" });
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
});

test("a client that stops reading gets the latest change of each chat, and nothing is buffered for it", async () => {
  const { client, url } = await chatGatewayFixture();
  // A summary of ten kilobytes.
  const tags = Array.from({ length: 99 }, (_, index) => `${index}`.padEnd(100, "x"));
  const chats = await Promise.all(Array.from({ length: 20 }, () => client.create({ tags })));
  const reader = await waitUntilOpen(createReader(url));
  reader.pause();
  const rounds = 60;
  await Promise.all(
    chats.map(async ({ chat }) => {
      for (let round = 1; round <= rounds; round += 1)
        await client.applyEdits(chat.chat_id, {
          revision: round - 1,
          edits: [{ type: "tag", tags: [...tags, `round ${round}`] }],
        });
    }),
  );
  await sleep(50);
  reader.resume();
  const isLast = ({ event }: FeedReader["frames"][number]): boolean =>
    event.type === "chat.changed" && event.chat.tags.at(-1) === `round ${rounds}`;
  await reader.waitUntil("the last event", ({ frames }) => frames.filter(isLast).length === 20);
  expect(reader.changedChatIds.length).toBeLessThan(chats.length * rounds);
}, 60_000);

test("the typed client continues after an interrupted connection", async () => {
  const { client, url } = await chatGatewayFixture();
  const { chat } = await client.create();
  const seen: ChatChange[] = [];
  const requestedStamps: (number | undefined)[] = [];
  const cuts: (() => void)[] = [];
  const connect: ConnectChats = (after, { onEvent, onClosed }) => {
    requestedStamps.push(after);
    const query = after === undefined ? "" : `?after=${after}`;
    let rest = "";
    const call = request(`${url}/api/chats/events${query}`, { agent: false }, (reply) => {
      reply.setEncoding("utf8");
      reply.on("data", (text: string) => {
        const blocks = (rest + text).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks)
          onEvent(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "") as ChatFeedEvent | ChatChange);
      });
      reply.on("error", () => undefined);
      reply.on("close", () => onClosed());
    });
    call.on("error", () => onClosed("lost"));
    call.end();
    cuts.push(() => call.destroy());
    return { close: () => call.destroy() };
  };
  const followed = followChats(
    connect,
    { onChange: (change) => seen.push(change), onReset: () => undefined },
    {
      schedule(ms, run) {
        const timer = setTimeout(run, Math.min(ms, 30_000));
        return () => clearTimeout(timer);
      },
    },
  );
  await waitUntil("it is live", () => followed.connection.state === "live");
  const stamp = await rename(client, chat.chat_id, "one");
  await waitUntil("the first", () => seen.length === 1);
  cuts[0]?.();
  await rename(client, chat.chat_id, "two");
  await waitUntil("the second", () => seen.length === 2);
  followed.close();
  expect(requestedStamps).toEqual([undefined, stamp]);
  expect(seen).toMatchObject([{ chat: { title: "one" } }, { chat: { title: "two" } }]);
});
