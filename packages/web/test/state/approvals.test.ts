import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, answerIn, newChat, say } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

const isOne = (pending: readonly unknown[]) => pending.length === 1;
const isNone = (pending: readonly unknown[]) => pending.length === 0;

test("what an answer asks is pending in all tabs, and of two that decide at once one is told what was decided", async () => {
  const page = openTab(gateway.url);
  const other = openTab(gateway.url);
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Send a message to Bob");
  const [asked] = await until(page.approvals.pending, ([one]) => one?.input_schema !== undefined);
  const [seen] = await until(other.approvals.pending, isOne);
  expect(seen).toEqual(asked);
  expect(asked).toMatchObject({
    call: { name: "send_message" },
    chat: { chat_id: chat.chatId },
    agent: "demo-agent",
    depth: 0,
  });
  const id = asked?.approval.approval_id ?? "";
  const deciding = [
    page.approvals.decide(id, { decision: "approve" }),
    other.approvals.decide(id, { decision: "deny" }),
  ];
  expect(page.approvals.deciding.get()).toEqual(new Set([id]));
  await Promise.all(deciding);
  for (const tab of [page, other]) {
    expect(tab.approvals.deciding.get()).toEqual(new Set());
    expect(tab.approvals.pending.get()).toEqual([]);
  }
  const told = [page, other].flatMap((tab) => tab.toasts.all.get());
  expect(told).toMatchObject([
    {
      text: expect.stringMatching(
        /^Already decided elsewhere: (approved|denied) \(send_message\)$/,
      ),
    },
  ]);
  await answered(chat);
});

test("what is asked is there before the gateway is asked for it, and gone as soon as the answer is stopped", async () => {
  const world = nodeWorld(gateway.url);
  const page = openTab(gateway.url, {
    ...world,
    fetch: (url, init) =>
      url.endsWith("/api/approvals")
        ? new Promise((_, reject) => setTimeout(() => reject(new TypeError("too slow")), 500))
        : world.fetch(url, init),
  });
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Send a message to Bob");
  const [asked] = await until(page.approvals.pending, isOne);
  const version = answerIn(chat.state.get());
  expect(asked).toMatchObject({
    root_task_id: version?.task_id,
    call: { name: "send_message", arguments: expect.stringContaining("Bob") },
    chat: { chat_id: chat.chatId, version_id: version?.version_id },
  });
  expect(await chat.stop()).toBe(true);
  await until(page.approvals.pending, isNone);
});

test("whoever looks at a question that somebody else decides is told so, and who decided is not", async () => {
  const page = openTab(gateway.url);
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Send a message to Bob");
  const [asked] = await until(page.approvals.pending, isOne);
  const other = openTab(gateway.url);
  const sameChat = other.openChat(chat.chatId);
  await until(other.taskTree(asked?.root_task_id ?? ""), (tree) => tree !== undefined);
  await until(other.approvals.pending, isOne);
  await page.approvals.decide(asked?.approval.approval_id ?? "", { decision: "deny" });
  await until(other.approvals.pending, isNone);
  // The list and the task tell of it, in any order.
  expect(await until(other.toasts.all, isOne)).toMatchObject([
    { text: "Already decided elsewhere: denied (send_message)" },
  ]);
  await answered(sameChat);
  expect(page.toasts.all.get()).toEqual([]);
});

test("a decision whose reply was lost is not called that of somebody else, and can be sent again", async () => {
  const world = nodeWorld(gateway.url);
  let lost = 0;
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (!/\/api\/approvals\/./.test(url) || lost > 0) return reply;
      lost += 1;
      throw new TypeError("the reply was lost");
    },
  });
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Send a message to Bob");
  const [asked] = await until(page.approvals.pending, isOne);
  const { approval_id: id = "" } = asked?.approval ?? {};
  const deny = () => page.approvals.decide(id, { decision: "deny", reason: "not now" });
  await expect(deny()).rejects.toMatchObject({ code: "unreachable" });
  await deny();
  await until(page.approvals.pending, isNone);
  await answered(chat);
  expect(page.toasts.all.get()).toEqual([]);
  expect(lost).toBe(1);
});

test("one that only the answer has told of stands behind the others, however this machine's clock goes", async () => {
  const world = nodeWorld(gateway.url);
  let isSlow = false;
  const page = openTab(gateway.url, {
    ...world,
    now: () => Date.now() - 600_000,
    fetch: (url, init) =>
      isSlow && url.endsWith("/api/approvals")
        ? Promise.reject(new TypeError("too slow"))
        : world.fetch(url, init),
  });
  const first = await newChat(page, { agent: "demo-agent" });
  await say(page, first, "Send a message to Ann");
  const [oldest] = await until(page.approvals.pending, ([one]) => one?.input_schema !== undefined);
  isSlow = true;
  const second = await newChat(page, { agent: "demo-agent" });
  await say(page, second, "Send a message to Bob");
  const both = await until(page.approvals.pending, ({ length }) => length === 2);
  expect(both[0]?.approval.approval_id).toBe(oldest?.approval.approval_id);
  await Promise.all([first.stop(), second.stop()]);
});

test("one of a chat that is not open is noticed by the list, and gone when somebody else has decided", async () => {
  const page = openTab(gateway.url);
  await until(page.connection, ({ is }) => is === "live");
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob" });
  const [asked] = await until(page.approvals.pending, isOne);
  expect(asked?.chat?.chat_id).toBe(chat.chat_id);
  await client.decide(asked?.approval.approval_id ?? "", { decision: "deny", reason: "asleep" });
  await until(page.approvals.pending, isNone);
});

test("two questions of an answer, one after the other, are there at once in a tab that does not show the chat", async () => {
  const page = openTab(gateway.url);
  await until(page.connection, ({ is }) => is === "live");
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob in 2 steps" });
  const [first] = await until(page.approvals.pending, isOne);
  const firstId = first?.approval.approval_id ?? "";
  await page.approvals.decide(firstId, { decision: "deny" });
  const [second] = await until(page.approvals.pending, isOne);
  expect(second?.approval.approval_id).not.toBe(firstId);
  await client.decide(second?.approval.approval_id ?? "", { decision: "deny" });
  await until(page.approvals.pending, isNone);
});

test("a question is there at once while another tool of the same answer is still at work", async () => {
  const page = openTab(gateway.url);
  await until(page.connection, ({ is }) => is === "live");
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: 'slow_count to 30 and send_message to Bob: "hello"' });
  await until(page.approvals.pending, isOne);
  const { chat: now } = await client.open(chat.chat_id);
  expect(JSON.stringify(now)).toContain('"executing"');
  await client.stop(chat.chat_id);
  await until(page.approvals.pending, isNone);
});

test("what a task of no chat asks is there at once, and gone when it is stopped", async () => {
  const page = openTab(gateway.url);
  await until(page.connection, ({ is }) => is === "live");
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  await post("/api/tasks", { agent: "demo-agent", input: "Send a message to Bob" });
  const [asked] = await until(page.approvals.pending, isOne);
  expect(asked?.chat).toBeUndefined();
  await post(`/api/tasks/${asked?.root_task_id}/cancel`, {});
  await until(page.approvals.pending, isNone);
});

test("a page that nobody looks at still counts what waits, without a stream", async () => {
  const world = nodeWorld(gateway.url, { faster: 200 });
  let streams = 0;
  const page = openTab(gateway.url, {
    ...world,
    fetch(url, init) {
      if (!url.includes("/api/events")) return world.fetch(url, init);
      streams += 1;
      init?.signal?.addEventListener("abort", () => (streams -= 1));
      return world.fetch(url, init);
    },
  });
  await until(page.connection, ({ is }) => is === "live");
  world.turn({ visible: false });
  await expect.poll(() => streams, { timeout: 5000 }).toBe(0);
  const client = createChatClient({ fetch, base: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob" });
  const [asked] = await until(page.approvals.pending, isOne);
  await until(
    page.list.state,
    (state) => state.is === "ready" && state.chats.some(({ chat_id }) => chat_id === chat.chat_id),
  );
  expect(streams).toBe(0);
  expect(page.connection.get().is).toBe("live");
  await client.decide(asked?.approval.approval_id ?? "", { decision: "deny" });
  await until(page.approvals.pending, isNone);
});

test("arguments that are no good decide nothing: the gateway's word is thrown, and it stays pending", async () => {
  const page = openTab(gateway.url);
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Send a message to Bob");
  const [asked] = await until(page.approvals.pending, isOne);
  const id = asked?.approval.approval_id ?? "";
  const wrong = page.approvals.decide(id, { decision: "approve", arguments: { to: 7 } });
  await expect(wrong).rejects.toMatchObject({ name: "ChatApiError", status: 400 });
  expect(page.approvals.pending.get()).toHaveLength(1);
  expect(page.approvals.deciding.get()).toEqual(new Set());
  await page.approvals.decide(id, { decision: "deny" });
  await answered(chat);
});
