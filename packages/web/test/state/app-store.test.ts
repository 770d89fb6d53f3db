import { ChatApiError, createChatClient, type ChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, openTestApp, waitForCell } from "../node-environment.ts";
import {
  waitForAnswer,
  getLastAnswer,
  isReady,
  openNewChat,
  sendMessage,
  getVisibleAnswerText,
} from "./chat-helpers.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("an answer is the same live, after a reload, in another tab and in the store", async () => {
  const page = openTestApp(gateway.url);
  const other = openTestApp(gateway.url);
  const chat = await openNewChat(page, { agent: "demo-agent" });
  const sameChat = other.openChat(chat.chatId);
  expect(await sendMessage(page, chat, "What is the weather in Paris?")).toBe(true);
  expect(page.getDraft(chat.chatId).get().text).toBe("");
  const shown: string[] = [];
  const recordText = () => shown.push(getVisibleAnswerText(page, chat));
  const stop = [
    chat.state.subscribe(recordText),
    page.taskTree(getLastAnswer(chat.state.get())?.task_id ?? "").subscribe(recordText),
  ];
  const done = await waitForAnswer(chat);
  stop.forEach((run) => run());
  expect(new Set(shown).size).toBeGreaterThan(5);
  // Text never shrinks.
  shown.forEach((words, index) => expect(words.startsWith(shown[index - 1] ?? "")).toBe(true));
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  // The title is generated after the answer.
  await expect
    .poll(
      async () => {
        const { chat: stored, stamp, usage } = await client.get(chat.chatId);
        const expected = { status: "ready", chat: stored, stamp, usage, deletedAt: undefined };
        return [chat.state.get(), sameChat.state.get()].every(
          (state) => JSON.stringify(state) === JSON.stringify(expected),
        );
      },
      { timeout: 5000 },
    )
    .toBe(true);
  const reloaded = openTestApp(gateway.url).openChat(chat.chatId);
  expect(await waitForCell(reloaded.state, isReady)).toEqual(chat.state.get());
  expect(done.usage.total_tokens).toBeGreaterThan(0);
});

test("changes of chats in any tab appear in the lists of all tabs, in the gateway's order", async () => {
  const page = openTestApp(gateway.url);
  const other = openTestApp(gateway.url);
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const first = await openNewChat(page, {});
  const second = await openNewChat(page, {});
  expect(await other.chatList.rename(first.chatId, "The first")).toBe(true);
  expect(await other.chatList.tag(first.chatId, ["work"])).toBe(true);
  expect(await other.chatList.pin(second.chatId, true)).toBe(true);
  const chats = (from = page) => {
    const state = from.chatList.state.get();
    return state.status === "ready" ? state.chats : [];
  };
  const isListAsStored = async () => {
    const { data } = await client.list({ limit: 100 });
    return [page, other].every((tab) => JSON.stringify(chats(tab)) === JSON.stringify(data));
  };
  await expect.poll(isListAsStored, { timeout: 5000 }).toBe(true);
  expect(chats()[0]).toMatchObject({ chat_id: second.chatId, pinned: true });
  expect(chats().find(({ chat_id }) => chat_id === first.chatId)).toMatchObject({
    title: "The first",
    tags: ["work"],
  });
  // The open chat has the change, too.
  expect(
    await waitForCell(first.state, (state) => isReady(state) && state.chat.tags.length > 0),
  ).toMatchObject({ chat: { title: "The first" } });

  expect(await page.chatList.remove(first.chatId)).toBe(true);
  await waitForCell(
    other.chatList.state,
    (state) =>
      state.status === "ready" && state.chats.every(({ chat_id }) => chat_id !== first.chatId),
  );
  await waitForCell(first.state, (state) => isReady(state) && state.deletedAt !== undefined);
  const [toast] = page.toasts.all.get();
  expect(toast?.text).toBe("Deleted: The first");
  toast?.action?.run();
  await waitForCell(first.state, (state) => isReady(state) && state.deletedAt === undefined);
  await client.remove(second.chatId, { forever: true });
  await waitForCell(second.state, ({ status }) => status === "missing");
  await expect.poll(isListAsStored, { timeout: 5000 }).toBe(true);
});

test("concurrent edits are applied in order, and a rebasable edit is repeated after a conflict", async () => {
  const page = openTestApp(gateway.url);
  const chat = await openNewChat(page, {});
  const other = openTestApp(gateway.url).openChat(chat.chatId);
  await waitForCell(other.state, isReady);
  const done = await Promise.all([
    chat.change({ type: "rename", title: "One" }),
    chat.change({ type: "tag", tags: ["a"] }),
    other.change({ type: "pin_chat", value: true }),
    chat.change({ type: "settings", patch: { turns: 3 } }),
  ]);
  expect(done).toEqual([true, true, true, true]);
  const expected = { title: "One", tags: ["a"], pinned: true, settings: { turns: 3 } };
  for (const { state } of [chat, other])
    await waitForCell(state, (chat) => isReady(chat) && chat.chat.revision >= 4);
  expect(chat.state.get()).toEqual(other.state.get());
  expect(chat.state.get()).toMatchObject({ chat: expected });
  expect(page.toasts.all.get()).toEqual([]);
});

test("a deletion can be undone from its toast, and is rejected with a message if the chat has changed in the meantime", async () => {
  const environment = createNodeEnvironment(gateway.url);
  let gate = Promise.resolve();
  const page = openTestApp(gateway.url, {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (!url.includes("/api/events")) return reply;
      const gated = new TransformStream<Uint8Array, Uint8Array>({
        async transform(chunk, out) {
          await gate;
          out.enqueue(chunk);
        },
      });
      return new Response(reply.body?.pipeThrough(gated));
    },
  });
  const chat = await openNewChat(page, { model: "demo/clean" });
  await sendMessage(page, chat, "Hello");
  const before = await waitForAnswer(chat);
  const [root = ""] = before.chat.roots;
  expect(await chat.deleteNode(root, "delete")).toBe(true);
  expect(chat.state.get()).toMatchObject({ chat: { roots: [] } });
  page.toasts.all.get().at(-1)?.action?.run();
  const undone = await waitForCell(
    chat.state,
    (state) => isReady(state) && state.chat.roots.includes(root),
  );
  // This tab no longer receives the changes of others.
  gate = new Promise(() => undefined);
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  await client.applyEdits(chat.chatId, {
    revision: isReady(undone) ? undone.chat.revision : 0,
    edits: [{ type: "rename", title: "Another" }],
  });
  expect(await chat.deleteNode(root, "delete")).toBe(false);
  expect(page.toasts.all.get().at(-1)?.text).toMatch(/has changed in the meantime/);
  expect(chat.state.get()).toMatchObject({ chat: { roots: [root], title: "Another" } });
});

test("replies that arrive late and in another order do not bring back an older state of the chat", async () => {
  const environment = createNodeEnvironment(gateway.url);
  let replies = 0;
  const page = openTestApp(gateway.url, {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (!url.includes("/api/events"))
        await new Promise((resolve) => setTimeout(resolve, ((replies += 1) * 37) % 60));
      return reply;
    },
  });
  const chat = await openNewChat(page, {});
  const stamps: number[] = [];
  chat.state.subscribe(() => {
    const state = chat.state.get();
    if (isReady(state)) stamps.push(state.stamp);
  });
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  let tagged = Promise.resolve(true);
  for (let number = 0; number < 8; number += 1) {
    await renameChat(client, chat.chatId, `Title ${number}`);
    tagged = chat.change({ type: "tag", tags: [`tag ${number}`] });
    void chat.reload();
  }
  // The change is rejected if it conflicts with the previous change of the tags.
  while (!(await tagged)) tagged = chat.change({ type: "tag", tags: ["tag 7"] });
  await waitForCell(
    chat.state,
    (state) => isReady(state) && state.chat.tags[0] === "tag 7" && state.chat.title === "Title 7",
  );
  expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
});

/** Renames a chat, repeating it on conflicts with concurrent changes. */
async function renameChat(client: ChatClient, chatId: string, title: string): Promise<void> {
  for (;;) {
    const { chat } = await client.get(chatId);
    const body = { revision: chat.revision, edits: [{ type: "rename", title }] } as const;
    try {
      await client.applyEdits(chatId, body);
      return;
    } catch (error) {
      if (!(error instanceof ChatApiError) || error.code !== "conflict") throw error;
    }
  }
}

test("progress of a running tool is shown, and removed when the tool is done", async () => {
  const page = openTestApp(gateway.url);
  const chat = await openNewChat(page, { agent: "demo-agent" });
  await sendMessage(page, chat, "Use slow_count to count to 3");
  const taskId = getLastAnswer(chat.state.get())?.task_id ?? "";
  const progress = await waitForCell(
    page.progress(taskId),
    (reports) => Object.keys(reports).length > 0,
  );
  expect(Object.values(progress)[0]?.fraction).toBeGreaterThan(0);
  await waitForAnswer(chat);
  expect(page.progress(taskId).get()).toEqual({});
  await waitForCell(page.taskTree(taskId), (tree) => tree === undefined);
});

test("an uploaded file is returned as an attachment", async () => {
  const page = openTestApp(gateway.url);
  await waitForCell(page.connection, ({ status }) => status === "live");
  const file = new File(["The sea rises."], "notes.txt", { type: "text/plain" });
  expect(await page.upload(file)).toMatchObject({
    kind: "file",
    filename: "notes.txt",
    size: 14,
    url: expect.stringMatching(/^\/api\/blobs\//),
  });
});
