import type { TaskTree } from "@deltawire/tasks";
import { lastOnPath } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import type { World } from "../../src/browser/world.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, answerIn, newChat, say } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("a message whose reply is lost is sent again by itself, and once", async () => {
  const page = openTab(gateway.url, losing("/send"));
  const chat = await newChat(page, { model: "demo/clean" });
  expect(await say(page, chat, "Hello")).toBe(true);
  const { chat: now } = await answered(chat);
  expect(now.roots).toHaveLength(1);
  expect(page.draft(chat.chatId).get().text).toBe("");
});

test("a chat whose making is not answered is made once", async () => {
  const page = openTab(gateway.url, losing("/api/chats"));
  const before = (await page.client.list()).data.length;
  await newChat(page, { model: "demo/clean" });
  expect((await page.client.list()).data).toHaveLength(before + 1);
});

test("a file whose import is not answered is imported once", async () => {
  const page = openTab(gateway.url, losing("/api/chats/import"));
  const before = (await page.client.list()).data.length;
  const { data } = await page.importFrom([{ role: "user", content: "Hello" }]);
  expect(data).toHaveLength(1);
  expect((await page.client.list()).data).toHaveLength(before + 1);
});

test("a message in other words is sent once, though the replies are lost and a person tries again", async () => {
  const page = openTab(gateway.url, losing("/edit", 6));
  const chat = await newChat(page, { model: "demo/clean" });
  await say(page, chat, "Hello");
  const { chat: before } = await answered(chat);
  const [nodeId = ""] = before.roots;
  const edit = { text: "Good morning", key: "key" };
  const versions = async () => {
    await chat.readAnew();
    const { nodes } = (await answered(chat)).chat;
    return Object.values(nodes).map((node) =>
      node.kind === "separator" ? 0 : node.versions.length,
    );
  };
  expect(await chat.editMessage(nodeId, edit, { as: "version", send: true })).toBe(false);
  expect(await versions()).toEqual([2, 2]);
  expect(await chat.editMessage(nodeId, edit, { as: "version", send: true })).toBe(true);
  expect(await versions()).toEqual([2, 2]);
  // As a branch, the same words are another wish.
  expect(await chat.editMessage(nodeId, edit, { as: "branch", send: true })).toBe(true);
  expect(await versions()).toEqual([2, 2, 1, 1]);
});

test("words that are only changed, or an answer's, are changed once, though the reply is lost", async () => {
  const page = openTab(gateway.url, losing("/edit"));
  const chat = await newChat(page, { model: "demo/clean" });
  await say(page, chat, "Hello");
  const { chat: before } = await answered(chat);
  const [nodeId = ""] = before.roots;
  const answerId = lastOnPath(before)?.node_id ?? "";
  const changes = [
    () => chat.editMessage(nodeId, { text: "Bye", key: "key" }, { as: "version", send: false }),
    () => chat.editAnswer(answerId, "Good **bye**"),
  ];
  for (const change of changes) {
    expect(await change()).toBe(false);
    await chat.readAnew();
    expect(await change()).toBe(true);
  }
  const { nodes } = (await answered(chat)).chat;
  const counts = Object.values(nodes).map(
    (node) => node.kind !== "separator" && node.versions.length,
  );
  expect(counts).toEqual([2, 2]);
});

test("what is told to an answer is told once, though the reply is lost and a person tries again", async () => {
  const page = openTab(gateway.url, losing("/input"));
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "please use slow_count to 20");
  const running = await until(chat.state, (state) => answerIn(state)?.status === "running");
  const taskId = answerIn(running)?.task_id ?? "";
  const word = { text: "And then", delivery: "steer", key: "key" } as const;
  expect(await chat.tell(taskId, word)).toBe(true);
  expect(await chat.tell(taskId, word)).toBe(true);
  expect(await chat.tell(taskId, { ...word, delivery: "queue" })).toBe(true);
  const tree = await until(page.taskTree(taskId), (each) => wordsIn(each, taskId) > 0);
  expect(wordsIn(tree, taskId)).toBe(1);
  await chat.stop();
});

test("that nobody was reached is told by whoever keeps the words, and not by a toast", async () => {
  const page = openTab("http://127.0.0.1:1", nodeWorld("http://127.0.0.1:1", { faster: 50 }));
  const chat = page.openChat("chat_1");
  const word = { text: "And then", delivery: "steer", key: "key" } as const;
  expect(await chat.tell("task_1", word)).toBe(false);
  expect(page.draft("chat_1").unreached.get()).toBe("key");
  let isTold = false;
  expect(await page.createChat({}, () => (isTold = true))).toBeUndefined();
  expect(isTold).toBe(true);
  expect(page.toasts.all.get()).toEqual([]);
});

function wordsIn(tree: TaskTree | undefined, taskId: string): number {
  return tree?.tasks[taskId]?.inputs.length ?? 0;
}

/** A tab that does not get the first replies of what is posted to an address. */
function losing(path: string, times = 2): World {
  const world = nodeWorld(gateway.url, { faster: 10 });
  let lost = 0;
  return {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (init?.method !== "POST" || !url.endsWith(path) || lost >= times) return reply;
      lost += 1;
      throw new TypeError("the reply was lost");
    },
  };
}

test("a message that the gateway never got stays in its draft, which says so until it is sent, also over a reload, and what is typed meanwhile stays too", async () => {
  const world = nodeWorld(gateway.url, { faster: 50 });
  const page = openTab(gateway.url, world);
  const chat = await newChat(page, { model: "demo/clean" });
  await gateway.kill();
  expect(await say(page, chat, "Hello")).toBe(false);
  const draft = page.draft(chat.chatId);
  expect(draft.get().text).toBe("Hello");
  expect(draft.unreached.get()).toBe(draft.get().key);
  expect(page.toasts.all.get()).toEqual([]);
  world.leave();
  const later = openTab(gateway.url, nodeWorld(gateway.url, { storage: world.storage }));
  expect(later.draft(chat.chatId).get()).toEqual(draft.get());
  await gateway.restart();
  const sending = chat.send(draft.get(), null);
  draft.change({ text: "And then" });
  expect(await sending).toBe(true);
  expect(draft.get().text).toBe("And then");
  expect(draft.unreached.get()).not.toBe(draft.get().key);
  await answered(chat);
});
