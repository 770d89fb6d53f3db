import { ChatApiError, createChatClient, type ChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, answerIn, isReady, newChat, say, shownWords } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("an answer streams, and what is shown live is what a reload and another tab show, and what is stored", async () => {
  const page = openTab(gateway.url);
  const other = openTab(gateway.url);
  const chat = await newChat(page, { agent: "demo-agent" });
  const seen = other.openChat(chat.chatId);
  expect(await say(page, chat, "What is the weather in Paris?")).toBe(true);
  expect(page.draft(chat.chatId).get().text).toBe("");
  const shown: string[] = [];
  const note = () => shown.push(shownWords(page, chat));
  const stop = [
    chat.state.subscribe(note),
    page.taskTree(answerIn(chat.state.get())?.task_id ?? "").subscribe(note),
  ];
  const done = await answered(chat);
  stop.forEach((each) => each());
  expect(new Set(shown).size).toBeGreaterThan(5);
  // No frame shows less than the one before.
  shown.forEach((words, index) => expect(words.startsWith(shown[index - 1] ?? "")).toBe(true));
  const client = createChatClient({ fetch, base: gateway.url });
  // The title comes a little later.
  await expect
    .poll(
      async () => {
        const { chat: stored, stamp, usage } = await client.open(chat.chatId);
        const kept = { is: "ready", chat: stored, stamp, usage, deletedAt: undefined };
        return [chat.state.get(), seen.state.get()].every(
          (state) => JSON.stringify(state) === JSON.stringify(kept),
        );
      },
      { timeout: 5000 },
    )
    .toBe(true);
  const reloaded = openTab(gateway.url).openChat(chat.chatId);
  expect(await until(reloaded.state, isReady)).toEqual(chat.state.get());
  expect(done.usage.total_tokens).toBeGreaterThan(0);
});

test("the list has what is new, changed, deleted and restored in any tab, in the gateway's order", async () => {
  const page = openTab(gateway.url);
  const other = openTab(gateway.url);
  const client = createChatClient({ fetch, base: gateway.url });
  const first = await newChat(page, {});
  const second = await newChat(page, {});
  expect(await other.list.rename(first.chatId, "The first")).toBe(true);
  expect(await other.list.tag(first.chatId, ["work"])).toBe(true);
  expect(await other.list.pin(second.chatId, true)).toBe(true);
  const chats = (from = page) => {
    const state = from.list.state.get();
    return state.is === "ready" ? state.chats : [];
  };
  const asStored = async () => {
    const { data } = await client.list({ limit: 100 });
    return [page, other].every((tab) => JSON.stringify(chats(tab)) === JSON.stringify(data));
  };
  await expect.poll(asStored, { timeout: 5000 }).toBe(true);
  expect(chats()[0]).toMatchObject({ chat_id: second.chatId, pinned: true });
  expect(chats().find(({ chat_id }) => chat_id === first.chatId)).toMatchObject({
    title: "The first",
    tags: ["work"],
  });
  // Who shows it has it as well.
  expect(
    await until(first.state, (state) => isReady(state) && state.chat.tags.length > 0),
  ).toMatchObject({ chat: { title: "The first" } });

  expect(await page.list.remove(first.chatId)).toBe(true);
  await until(
    other.list.state,
    (state) => state.is === "ready" && state.chats.every(({ chat_id }) => chat_id !== first.chatId),
  );
  await until(first.state, (state) => isReady(state) && state.deletedAt !== undefined);
  const [toast] = page.toasts.all.get();
  expect(toast?.text).toBe("Deleted: The first");
  toast?.action?.run();
  await until(first.state, (state) => isReady(state) && state.deletedAt === undefined);
  await client.remove(second.chatId, { forever: true });
  await until(second.state, ({ is }) => is === "missing");
  await expect.poll(asStored, { timeout: 5000 }).toBe(true);
});

test("changes that are made at once are put in order, and one that is still meant outlives a conflict", async () => {
  const page = openTab(gateway.url);
  const chat = await newChat(page, {});
  const other = openTab(gateway.url).openChat(chat.chatId);
  await until(other.state, isReady);
  const done = await Promise.all([
    chat.change({ type: "rename", title: "One" }),
    chat.change({ type: "tag", tags: ["a"] }),
    other.change({ type: "pin_chat", value: true }),
    chat.change({ type: "settings", patch: { turns: 3 } }),
  ]);
  expect(done).toEqual([true, true, true, true]);
  const wanted = { title: "One", tags: ["a"], pinned: true, settings: { turns: 3 } };
  for (const { state } of [chat, other])
    await until(state, (each) => isReady(each) && each.chat.revision >= 4);
  expect(chat.state.get()).toEqual(other.state.get());
  expect(chat.state.get()).toMatchObject({ chat: wanted });
  expect(page.toasts.all.get()).toEqual([]);
});

test("a delete is undone by its toast, and one of what has changed meanwhile is refused with a word", async () => {
  const world = nodeWorld(gateway.url);
  let gate = Promise.resolve();
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
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
  const chat = await newChat(page, { model: "demo/clean" });
  await say(page, chat, "Hello");
  const before = await answered(chat);
  const [root = ""] = before.chat.roots;
  expect(await chat.deleteNode(root, "delete")).toBe(true);
  expect(chat.state.get()).toMatchObject({ chat: { roots: [] } });
  page.toasts.all.get().at(-1)?.action?.run();
  const undone = await until(
    chat.state,
    (state) => isReady(state) && state.chat.roots.includes(root),
  );
  // The feed no longer tells this tab what another does.
  gate = new Promise(() => undefined);
  const client = createChatClient({ fetch, base: gateway.url });
  await client.edits(chat.chatId, {
    revision: isReady(undone) ? undone.chat.revision : 0,
    edits: [{ type: "rename", title: "Another" }],
  });
  expect(await chat.deleteNode(root, "delete")).toBe(false);
  expect(page.toasts.all.get().at(-1)?.text).toMatch(/has changed meanwhile/);
  expect(chat.state.get()).toMatchObject({ chat: { roots: [root], title: "Another" } });
});

test("replies that come late and in the wrong order never bring an older chat back", async () => {
  const world = nodeWorld(gateway.url);
  let replies = 0;
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (!url.includes("/api/events"))
        await new Promise((resolve) => setTimeout(resolve, ((replies += 1) * 37) % 60));
      return reply;
    },
  });
  const chat = await newChat(page, {});
  const stamps: number[] = [];
  chat.state.subscribe(() => {
    const state = chat.state.get();
    if (isReady(state)) stamps.push(state.stamp);
  });
  const client = createChatClient({ fetch, base: gateway.url });
  let tagged = Promise.resolve(true);
  for (let number = 0; number < 8; number += 1) {
    await renamed(client, chat.chatId, `Title ${number}`);
    tagged = chat.change({ type: "tag", tags: [`tag ${number}`] });
    void chat.readAnew();
  }
  // Refused if it met the change of a tag before it.
  while (!(await tagged)) tagged = chat.change({ type: "tag", tags: ["tag 7"] });
  await until(
    chat.state,
    (state) => isReady(state) && state.chat.tags[0] === "tag 7" && state.chat.title === "Title 7",
  );
  expect(stamps).toEqual(stamps.toSorted((one, other) => one - other));
});

/** Renames a chat that others change at the same time. */
async function renamed(client: ChatClient, chatId: string, title: string): Promise<void> {
  for (;;) {
    const { chat } = await client.open(chatId);
    const body = { revision: chat.revision, edits: [{ type: "rename", title }] } as const;
    try {
      await client.edits(chatId, body);
      return;
    } catch (error) {
      if (!(error instanceof ChatApiError) || error.code !== "conflict") throw error;
    }
  }
}

test("tools tell how far they are while they run, and nothing is left of it", async () => {
  const page = openTab(gateway.url);
  const chat = await newChat(page, { agent: "demo-agent" });
  await say(page, chat, "Use slow_count to count to 3");
  const taskId = answerIn(chat.state.get())?.task_id ?? "";
  const progress = await until(page.progress(taskId), (told) => Object.keys(told).length > 0);
  expect(Object.values(progress)[0]?.fraction).toBeGreaterThan(0);
  await answered(chat);
  expect(page.progress(taskId).get()).toEqual({});
  await until(page.taskTree(taskId), (tree) => tree === undefined);
});

test("a file is put where a draft can name it", async () => {
  const page = openTab(gateway.url);
  await until(page.connection, ({ is }) => is === "live");
  const file = new File(["The sea rises."], "notes.txt", { type: "text/plain" });
  expect(await page.upload(file)).toMatchObject({
    kind: "file",
    filename: "notes.txt",
    size: 14,
    url: expect.stringMatching(/^\/api\/blobs\//),
  });
});
