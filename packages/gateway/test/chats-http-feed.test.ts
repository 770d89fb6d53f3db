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
import { ChatFollower } from "../src/tasks/follow/chat-follower.ts";
import { answeredChat, chatScene, FeedReader, whenSettled } from "./chat-scene.ts";
import { pause, until } from "./scene.ts";

const readerOf = (url: string, query = "", headers: object = {}): FeedReader =>
  new FeedReader(`${url}/api/chats/events${query}`, { headers });

async function opened(reader: FeedReader): Promise<FeedReader> {
  await reader.until("the opening", ({ frames }) => frames.length > 0);
  return reader;
}

const rename = async (client: ChatClient, id: string, title: string): Promise<number> => {
  const { revision } = (await client.open(id)).chat;
  return (await client.edits(id, { revision, edits: [{ type: "rename", title }] })).stamp;
};

test("two tabs see each other's changes, from their opening on", async () => {
  const { client, url } = await chatScene();
  const { chat } = await client.create({ title: "Before" });
  const tabs = [await opened(readerOf(url)), await opened(readerOf(url))];
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
    await tab.until("the removal", ({ types }) => types.includes("chat.removed"));
    const [, renamed] = tab.frames;
    expect(renamed?.id).toBe(String(stamp));
    expect(renamed?.event).toMatchObject({ type: "chat.changed", chat: { title: "After" } });
    expect(tab.frames.at(-1)).toMatchObject({ event: { chat_id: chat.chat_id } });
    const ids = tab.frames.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
});

test("an answer is told of when it begins and when it has ended", async () => {
  const { client, url } = await chatScene();
  const reader = await opened(readerOf(url));
  const { id } = await answeredChat(client);
  await reader.until("the end", ({ frames }) => frames.length >= 4);
  const told = reader.frames.flatMap(({ event }) =>
    event.type === "chat.changed" ? [[event.chat.chat_id, event.chat.running]] : [],
  );
  expect(told.at(0)).toEqual([id, 0]);
  expect(told).toContainEqual([id, 1]);
  expect(told.at(-1)).toEqual([id, 0]);
});

describe("a reader that comes back", () => {
  test("with the last stamp gets of each chat the last change since, and then what happens", async () => {
    const { client, url } = await chatScene();
    const [one, two, three] = [await client.create(), await client.create(), await client.create()];
    for (const title of ["a", "b", "c"]) await rename(client, two.chat.chat_id, title);
    await client.remove(three.chat.chat_id, { forever: true });
    const byQuery = readerOf(url, `?after=${one.stamp}`);
    const byHeader = readerOf(url, "?after=0", { "last-event-id": String(one.stamp) });
    for (const reader of [byQuery, byHeader]) {
      await reader.until("the removal", ({ types }) => types.includes("chat.removed"));
      expect(reader.frames[0]?.id).toBeUndefined();
      expect(reader.changed).toEqual([two.chat.chat_id, three.chat.chat_id]);
      expect(reader.frames[1]?.event).toMatchObject({ chat: { title: "c" } });
    }
    await rename(client, one.chat.chat_id, "d");
    await byQuery.until("what happens", ({ changed }) => changed.length === 3);
    expect(byQuery.changed.at(-1)).toBe(one.chat.chat_id);
  });

  test("after it heard nothing but the opening misses nothing", async () => {
    const { client, url } = await chatScene();
    const { chat } = await client.create();
    const reader = await opened(readerOf(url));
    const { lastId } = reader;
    reader.leave();
    await rename(client, chat.chat_id, "x");
    const back = readerOf(url, "", { "last-event-id": lastId });
    await back.until("the change", ({ changed }) => changed.length === 1);
    expect(back.changed).toEqual([chat.chat_id]);
  });

  test.each([
    ["ahead of all changes", "99"],
    ["far ahead", "999999999999999"],
  ])("with a stamp that is %s is told to read the list anew", async (_what, after) => {
    const { client, url } = await chatScene();
    const { chat, stamp } = await client.create();
    const reader = readerOf(url, `?after=${after}`);
    await reader.until("the reset", ({ frames }) => frames.length === 2);
    expect(reader.frames[1]).toEqual({
      id: String(stamp),
      event: { type: "chats.reset", head: stamp },
    });
    await rename(client, chat.chat_id, "x");
    await reader.until("what happens", ({ changed }) => changed.length === 1);
  });

  test.each(["-1", "x", "1.5", ""])("with %j as a stamp is refused", async (after) => {
    const { url } = await chatScene();
    const response = await fetch(`${url}/api/chats/events?after=${after}`);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: "after" } },
    ]);
  });
});

test("a reader whose stamp is older than the last removal that is known is told to start over", async () => {
  const opening = async (after: number): Promise<string[]> => {
    const written: string[] = [];
    const follower = new ChatFollower(
      {
        store: {
          chatStamps: () => Promise.resolve({ head: 9, oldest: 5 }),
          chatChanges: () => Promise.resolve([]),
        },
        subscribe: () => () => undefined,
        subscribePending: () => () => undefined,
      },
      { after, heartbeatMs: 15_000, idOf: (stamp) => stamp },
      { write: (text) => written.push(text), wake: () => undefined },
    );
    await follower.step();
    return written.join("").match(/chats\.\w+/g) ?? [];
  };
  expect(await opening(4)).toEqual(["chats.opened", "chats.reset"]);
  expect(await opening(5)).toEqual(["chats.opened"]);
  expect(await opening(9)).toEqual(["chats.opened"]);
  expect(await opening(10)).toEqual(["chats.opened", "chats.reset"]);
});

test("each question to a person and each end of one is told, also while the chat only goes on waiting", async () => {
  const { client, url } = await chatScene();
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  const reader = readerOf(url, "");
  const told = () => reader.types.filter((type) => type === "approvals.changed").length;
  const pending = async () => (await client.approvals()).data;
  await reader.until("the opening", ({ types }) => types.length > 0);
  await client.send(chat.chat_id, { text: 'send_message to Bob: "a", open_private_note "keys"' });
  for (let seen = 0; (await pending()).length < 2; seen = told())
    await reader.until("a question", () => told() > seen);
  for (const { approval } of await pending()) {
    const seen = told();
    await client.decide(approval.approval_id, { decision: "deny" });
    await reader.until("the decision", () => told() > seen);
  }
  await whenSettled(client, chat.chat_id);
  expect(await pending()).toEqual([]);
});

test("a silence is filled with heartbeats, which move no cursor", async () => {
  const { client, url } = await chatScene({ beatMs: 2 });
  const { stamp } = await client.create();
  const reader = readerOf(url, `?after=${stamp}`);
  await reader.until("two", ({ types }) => types.length >= 3);
  expect(reader.frames.slice(0, 3)).toEqual([
    { id: undefined, event: { type: "chats.opened", head: stamp, heartbeat_ms: 30 } },
    { id: undefined, event: { type: "chats.heartbeat", head: stamp } },
    { id: undefined, event: { type: "chats.heartbeat", head: stamp } },
  ]);
});

test("the feed ends with the gateway, at once", async () => {
  const { gateway, url } = await chatScene();
  const reader = await opened(readerOf(url));
  const began = Date.now();
  await gateway.drain();
  await reader.untilEnd();
  expect(Date.now() - began).toBeLessThan(5000);
});

test("after a restart readers go on from their stamp, and what was sent with a key is not sent again", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "chats-http-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatScene({ dataFolder });
  const { chat, stamp } = await first.client.create();
  const ask = { text: "Hello" };
  const sent = await first.client.send(chat.chat_id, ask, { idempotencyKey: "k" });
  await whenSettled(first.client, chat.chat_id);
  await first.gateway.close();
  const { client, url } = await chatScene({ dataFolder });
  const reader = readerOf(url, `?after=${stamp}`);
  await reader.until("the change", ({ changed }) => changed.length === 1);
  expect(reader.types).toEqual(["chats.opened", "chat.changed"]);
  const again = await client.send(chat.chat_id, ask, { idempotencyKey: "k" });
  expect(again.task_id).toBe(sent.task_id);
  expect(Object.keys((await client.open(chat.chat_id)).chat.nodes)).toHaveLength(2);
});

test("HEAD says what it would be, and does not stay", async () => {
  const { url } = await chatScene();
  const response = await fetch(`${url}/api/chats/events`, { method: "HEAD" });
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
});

test("a reader that stops reading is told of each chat's last change, and nothing is kept for it", async () => {
  const { client, url } = await chatScene();
  // Ten kilobytes of a summary.
  const tags = Array.from({ length: 99 }, (_, index) => `${index}`.padEnd(100, "x"));
  const made = await Promise.all(Array.from({ length: 20 }, () => client.create({ tags })));
  const reader = await opened(readerOf(url));
  reader.pause();
  const rounds = 60;
  await Promise.all(
    made.map(async ({ chat }) => {
      for (let round = 1; round <= rounds; round += 1)
        await client.edits(chat.chat_id, {
          revision: round - 1,
          edits: [{ type: "tag", tags: [...tags, `round ${round}`] }],
        });
    }),
  );
  await pause(50);
  reader.resume();
  const isLast = ({ event }: FeedReader["frames"][number]): boolean =>
    event.type === "chat.changed" && event.chat.tags.at(-1) === `round ${rounds}`;
  await reader.until("the last of all", ({ frames }) => frames.filter(isLast).length === 20);
  expect(reader.changed.length).toBeLessThan(made.length * rounds);
}, 60_000);

test("the typed follower goes on where a cut connection ended", async () => {
  const { client, url } = await chatScene();
  const { chat } = await client.create();
  const seen: ChatChange[] = [];
  const asked: (number | undefined)[] = [];
  const cuts: (() => void)[] = [];
  const connect: ConnectChats = (after, { event, closed }) => {
    asked.push(after);
    const query = after === undefined ? "" : `?after=${after}`;
    let rest = "";
    const call = request(`${url}/api/chats/events${query}`, { agent: false }, (reply) => {
      reply.setEncoding("utf8");
      reply.on("data", (text: string) => {
        const blocks = (rest + text).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks)
          event(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "") as ChatFeedEvent | ChatChange);
      });
      reply.on("error", () => undefined);
      reply.on("close", () => closed());
    });
    call.on("error", () => closed("lost"));
    call.end();
    cuts.push(() => call.destroy());
    return { close: () => call.destroy() };
  };
  const followed = followChats(
    connect,
    { change: (change) => seen.push(change), reset: () => undefined },
    {
      schedule(ms, run) {
        const timer = setTimeout(run, Math.min(ms, 30_000));
        return () => clearTimeout(timer);
      },
    },
  );
  await until("it is live", () => followed.connection.state === "live");
  const stamp = await rename(client, chat.chat_id, "one");
  await until("the first", () => seen.length === 1);
  cuts[0]?.();
  await rename(client, chat.chat_id, "two");
  await until("the second", () => seen.length === 2);
  followed.close();
  expect(asked).toEqual([undefined, stamp]);
  expect(seen).toMatchObject([{ chat: { title: "one" } }, { chat: { title: "two" } }]);
});
