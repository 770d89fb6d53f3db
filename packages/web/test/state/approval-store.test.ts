import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, openTestApp, waitForCell } from "../node-environment.ts";
import { waitForAnswer, getLastAnswer, openNewChat, sendMessage } from "./chat-helpers.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

const hasOne = (pending: readonly unknown[]) => pending.length === 1;
const isEmpty = (pending: readonly unknown[]) => pending.length === 0;

test("a pending approval appears in all tabs, and if two tabs decide at once, one of them reports the decision of the other", async () => {
  const page = openTestApp(gateway.url);
  const other = openTestApp(gateway.url);
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Send a message to Bob");
  const [pendingApproval] = await waitForCell(
    page.approvals.pending,
    ([one]) => one?.input_schema !== undefined,
  );
  const [sameApproval] = await waitForCell(other.approvals.pending, hasOne);
  expect(sameApproval).toEqual(pendingApproval);
  expect(pendingApproval).toMatchObject({
    call: { name: "send_message" },
    chat: { chat_id: chat.chatId },
    agent: "demo-agent",
    depth: 0,
  });
  const id = pendingApproval?.approval.approval_id ?? "";
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
  const toasts = [page, other].flatMap((tab) => tab.toasts.all.get());
  expect(toasts).toMatchObject([
    {
      text: expect.stringMatching(/^Already (approved|denied) \(send_message\)$/),
    },
  ]);
  await waitForAnswer(chat);
});

test("an approval appears before the gateway lists it, and disappears when the answer is stopped", async () => {
  const environment = createNodeEnvironment(gateway.url);
  const page = openTestApp(gateway.url, {
    ...environment,
    fetch: (url, init) =>
      url.endsWith("/api/approvals")
        ? new Promise((_, reject) => setTimeout(() => reject(new TypeError("too slow")), 500))
        : environment.fetch(url, init),
  });
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Send a message to Bob");
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  const version = getLastAnswer(chat.state.get());
  expect(pendingApproval).toMatchObject({
    root_task_id: version?.task_id,
    call: { name: "send_message", arguments: expect.stringContaining("Bob") },
    chat: { chat_id: chat.chatId, version_id: version?.version_id },
  });
  expect(await chat.stop()).toBe(true);
  await waitForCell(page.approvals.pending, isEmpty);
});

test("a tab that shows an approval reports that another tab has decided it, and the deciding tab does not", async () => {
  const page = openTestApp(gateway.url);
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Send a message to Bob");
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  const other = openTestApp(gateway.url);
  const sameChat = other.openChat(chat.chatId);
  await waitForCell(
    other.taskTree(pendingApproval?.root_task_id ?? ""),
    (tree) => tree !== undefined,
  );
  await waitForCell(other.approvals.pending, hasOne);
  await page.approvals.decide(pendingApproval?.approval.approval_id ?? "", { decision: "deny" });
  await waitForCell(other.approvals.pending, isEmpty);
  // Both the list and the task report the decision, in any order.
  expect(await waitForCell(other.toasts.all, hasOne)).toMatchObject([
    { text: "Already denied (send_message)" },
  ]);
  await waitForAnswer(sameChat);
  expect(page.toasts.all.get()).toEqual([]);
});

test("a decision whose reply was lost is not reported as decided elsewhere, and can be sent again", async () => {
  const environment = createNodeEnvironment(gateway.url);
  let lost = 0;
  const page = openTestApp(gateway.url, {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (!/\/api\/approvals\/./.test(url) || lost > 0) return reply;
      lost += 1;
      throw new TypeError("the reply was lost");
    },
  });
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Send a message to Bob");
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  const { approval_id: id = "" } = pendingApproval?.approval ?? {};
  const deny = () => page.approvals.decide(id, { decision: "deny", reason: "not now" });
  await expect(deny()).rejects.toMatchObject({ code: "unreachable" });
  await deny();
  await waitForCell(page.approvals.pending, isEmpty);
  await waitForAnswer(chat);
  expect(page.toasts.all.get()).toEqual([]);
  expect(lost).toBe(1);
});

test("an approval that is not in the gateway's list yet comes last, even if the clock of this machine is slow", async () => {
  const environment = createNodeEnvironment(gateway.url);
  let isSlow = false;
  const page = openTestApp(gateway.url, {
    ...environment,
    now: () => Date.now() - 600_000,
    fetch: (url, init) =>
      isSlow && url.endsWith("/api/approvals")
        ? Promise.reject(new TypeError("too slow"))
        : environment.fetch(url, init),
  });
  const first = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, first, "Send a message to Ann");
  const [oldest] = await waitForCell(
    page.approvals.pending,
    ([one]) => one?.input_schema !== undefined,
  );
  isSlow = true;
  const second = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, second, "Send a message to Bob");
  const both = await waitForCell(page.approvals.pending, ({ length }) => length === 2);
  expect(both[0]?.approval.approval_id).toBe(oldest?.approval.approval_id);
  await Promise.all([first.stop(), second.stop()]);
});

test("an approval of a chat that is not open appears, and disappears when it is decided elsewhere", async () => {
  const page = openTestApp(gateway.url);
  await waitForCell(page.connection, ({ status }) => status === "live");
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob" });
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  expect(pendingApproval?.chat?.chat_id).toBe(chat.chat_id);
  await client.decide(pendingApproval?.approval.approval_id ?? "", {
    decision: "deny",
    reason: "asleep",
  });
  await waitForCell(page.approvals.pending, isEmpty);
});

test("two successive approvals of one answer appear in a tab that does not show the chat", async () => {
  const page = openTestApp(gateway.url);
  await waitForCell(page.connection, ({ status }) => status === "live");
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob in 2 steps" });
  const [first] = await waitForCell(page.approvals.pending, hasOne);
  const firstId = first?.approval.approval_id ?? "";
  await page.approvals.decide(firstId, { decision: "deny" });
  const [second] = await waitForCell(page.approvals.pending, hasOne);
  expect(second?.approval.approval_id).not.toBe(firstId);
  await client.decide(second?.approval.approval_id ?? "", { decision: "deny" });
  await waitForCell(page.approvals.pending, isEmpty);
});

test("an approval appears while another tool of the same answer still runs", async () => {
  const page = openTestApp(gateway.url);
  await waitForCell(page.connection, ({ status }) => status === "live");
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: 'slow_count to 30 and send_message to Bob: "hello"' });
  await waitForCell(page.approvals.pending, hasOne);
  const { chat: now } = await client.get(chat.chat_id);
  expect(JSON.stringify(now)).toContain('"executing"');
  await client.stop(chat.chat_id);
  await waitForCell(page.approvals.pending, isEmpty);
});

test("an approval of a task without a chat appears, and disappears when the task is stopped", async () => {
  const page = openTestApp(gateway.url);
  await waitForCell(page.connection, ({ status }) => status === "live");
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  await post("/api/tasks", { agent: "demo-agent", input: "Send a message to Bob" });
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  expect(pendingApproval?.chat).toBeUndefined();
  await post(`/api/tasks/${pendingApproval?.root_task_id}/cancel`, {});
  await waitForCell(page.approvals.pending, isEmpty);
});

test("a hidden page still counts pending approvals, without an event stream", async () => {
  const environment = createNodeEnvironment(gateway.url, { faster: 200 });
  let streams = 0;
  const page = openTestApp(gateway.url, {
    ...environment,
    fetch(url, init) {
      if (!url.includes("/api/events")) return environment.fetch(url, init);
      streams += 1;
      init?.signal?.addEventListener("abort", () => (streams -= 1));
      return environment.fetch(url, init);
    },
  });
  await waitForCell(page.connection, ({ status }) => status === "live");
  environment.simulate({ visible: false });
  await expect.poll(() => streams, { timeout: 5000 }).toBe(0);
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const { chat } = await client.create({ settings: { agent: "demo-agent" } });
  await client.send(chat.chat_id, { text: "Send a message to Bob" });
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  await waitForCell(
    page.chatList.state,
    (state) =>
      state.status === "ready" && state.chats.some(({ chat_id }) => chat_id === chat.chat_id),
  );
  expect(streams).toBe(0);
  expect(page.connection.get().status).toBe("live");
  await client.decide(pendingApproval?.approval.approval_id ?? "", { decision: "deny" });
  await waitForCell(page.approvals.pending, isEmpty);
});

test("a decision with invalid arguments throws the gateway's error, and the approval stays pending", async () => {
  const page = openTestApp(gateway.url);
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Send a message to Bob");
  const [pendingApproval] = await waitForCell(page.approvals.pending, hasOne);
  const id = pendingApproval?.approval.approval_id ?? "";
  const wrong = page.approvals.decide(id, { decision: "approve", arguments: { to: 7 } });
  await expect(wrong).rejects.toMatchObject({ name: "ChatApiError", status: 400 });
  expect(page.approvals.pending.get()).toHaveLength(1);
  expect(page.approvals.deciding.get()).toEqual(new Set());
  await page.approvals.decide(id, { decision: "deny" });
  await waitForAnswer(chat);
});
