import type { TaskTree } from "@deltawire/tasks";
import { lastNodeOnPath } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import type { BrowserEnvironment } from "../../src/browser/browser-environment.ts";
import { createNodeEnvironment, openTestApp, waitForCell } from "../node-environment.ts";
import { waitForAnswer, getLastAnswer, openNewChat, sendMessage } from "./chat-helpers.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("a message is sent again automatically if the reply is lost, and exists once", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/send"));
  const chat = await openNewChat(page, { model: "demo/clean" });
  expect(await sendMessage(page, chat, "Hello")).toBe(true);
  const { chat: now } = await waitForAnswer(chat);
  expect(now.roots).toHaveLength(1);
  expect(page.getDraft(chat.chatId).get().text).toBe("");
});

test("a chat is created once even if the reply is lost", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/api/chats"));
  const before = (await page.client.list()).data.length;
  await openNewChat(page, { model: "demo/clean" });
  expect((await page.client.list()).data).toHaveLength(before + 1);
});

test("a file is imported once even if the reply is lost", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/api/chats/import"));
  const before = (await page.client.list()).data.length;
  const { data } = await page.importChats([{ role: "user", content: "Hello" }]);
  expect(data).toHaveLength(1);
  expect((await page.client.list()).data).toHaveLength(before + 1);
});

test("an edited message is sent once, even if replies are lost and the user tries again", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/edit-message", 6));
  const chat = await openNewChat(page, { model: "demo/clean" });
  await sendMessage(page, chat, "Hello");
  const { chat: before } = await waitForAnswer(chat);
  const [nodeId = ""] = before.roots;
  const edit = { text: "Good morning", key: "key" };
  const countVersions = async () => {
    await chat.reload();
    const { nodes } = (await waitForAnswer(chat)).chat;
    return Object.values(nodes).map((node) =>
      node.kind === "separator" ? 0 : node.versions.length,
    );
  };
  expect(await chat.editMessage(nodeId, edit, { as: "version", send: true })).toBe(false);
  expect(await countVersions()).toEqual([2, 2]);
  expect(await chat.editMessage(nodeId, edit, { as: "version", send: true })).toBe(true);
  expect(await countVersions()).toEqual([2, 2]);
  // As a branch, the same text is a new request.
  expect(await chat.editMessage(nodeId, edit, { as: "branch", send: true })).toBe(true);
  expect(await countVersions()).toEqual([2, 2, 1, 1]);
});

test("a saved message or answer is changed once, even if the reply is lost", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/edit-message"));
  const chat = await openNewChat(page, { model: "demo/clean" });
  await sendMessage(page, chat, "Hello");
  const { chat: before } = await waitForAnswer(chat);
  const [nodeId = ""] = before.roots;
  const answerId = lastNodeOnPath(before)?.node_id ?? "";
  const changes = [
    () => chat.editMessage(nodeId, { text: "Bye", key: "key" }, { as: "version", send: false }),
    () => chat.editAnswer(answerId, "Good **bye**"),
  ];
  for (const change of changes) {
    expect(await change()).toBe(false);
    await chat.reload();
    expect(await change()).toBe(true);
  }
  const { nodes } = (await waitForAnswer(chat)).chat;
  const counts = Object.values(nodes).map(
    (node) => node.kind !== "separator" && node.versions.length,
  );
  expect(counts).toEqual([2, 2]);
});

test("an input to a running answer is delivered once, even if the reply is lost and the user tries again", async () => {
  const page = openTestApp(gateway.url, createLossyEnvironment("/input"));
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "please use slow_count to 20");
  const running = await waitForCell(
    chat.state,
    (state) => getLastAnswer(state)?.status === "running",
  );
  const taskId = getLastAnswer(running)?.task_id ?? "";
  const input = { text: "And then", delivery: "steer", key: "key" } as const;
  expect(await chat.sendInput(taskId, input)).toBe(true);
  expect(await chat.sendInput(taskId, input)).toBe(true);
  expect(await chat.sendInput(taskId, { ...input, delivery: "queue" })).toBe(true);
  const tree = await waitForCell(page.taskTree(taskId), (tree) => countInputs(tree, taskId) > 0);
  expect(countInputs(tree, taskId)).toBe(1);
  await chat.stop();
});

test("an unreachable gateway is reported by the draft, not by a toast", async () => {
  const page = openTestApp(
    "http://127.0.0.1:1",
    createNodeEnvironment("http://127.0.0.1:1", { faster: 50 }),
  );
  const chat = page.openChat("chat_1");
  const input = { text: "And then", delivery: "steer", key: "key" } as const;
  expect(await chat.sendInput("task_1", input)).toBe(false);
  expect(page.getDraft("chat_1").unreachableKey.get()).toBe("key");
  let isUnreachable = false;
  expect(await page.createChat({}, () => (isUnreachable = true))).toBeUndefined();
  expect(isUnreachable).toBe(true);
  expect(page.toasts.all.get()).toEqual([]);
});

function countInputs(tree: TaskTree | undefined, taskId: string): number {
  return tree?.tasks[taskId]?.inputs.length ?? 0;
}

/** Creates an environment that loses the first `times` replies to POST requests of a path. */
function createLossyEnvironment(path: string, times = 2): BrowserEnvironment {
  const environment = createNodeEnvironment(gateway.url, { faster: 10 });
  let lost = 0;
  return {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (init?.method !== "POST" || !url.endsWith(path) || lost >= times) return reply;
      lost += 1;
      throw new TypeError("the reply was lost");
    },
  };
}

test("a message that could not be sent stays in its draft, even after a reload, and so does text that is typed while it is being sent", async () => {
  const environment = createNodeEnvironment(gateway.url, { faster: 50 });
  const page = openTestApp(gateway.url, environment);
  const chat = await openNewChat(page, { model: "demo/clean" });
  await gateway.kill();
  expect(await sendMessage(page, chat, "Hello")).toBe(false);
  const draft = page.getDraft(chat.chatId);
  expect(draft.get().text).toBe("Hello");
  expect(draft.unreachableKey.get()).toBe(draft.get().key);
  expect(page.toasts.all.get()).toEqual([]);
  environment.simulatePageHide();
  const later = openTestApp(
    gateway.url,
    createNodeEnvironment(gateway.url, { storage: environment.storage }),
  );
  expect(later.getDraft(chat.chatId).get()).toEqual(draft.get());
  await gateway.restart();
  const sending = chat.send(draft.get(), null);
  draft.change({ text: "And then" });
  expect(await sending).toBe(true);
  expect(draft.get().text).toBe("And then");
  expect(draft.unreachableKey.get()).not.toBe(draft.get().key);
  await waitForAnswer(chat);
});
