import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connection } from "../../src/state/page.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, answerIn, isReady, newChat, say, shownWords } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("a gateway that is killed in mid-answer and started again is followed by itself to the same end", async () => {
  const page = openTab(gateway.url, nodeWorld(gateway.url, { faster: 4 }));
  const chat = await newChat(page, { model: "demo/clean" });
  await say(page, chat, "long 80");
  const taskId = answerIn(chat.state.get())?.task_id ?? "";
  await until(page.taskTree(taskId), () => shownWords(page, chat).length > 50);
  const states: Connection["is"][] = [];
  page.connection.subscribe(() => states.push(page.connection.get().is));
  await gateway.kill();
  const lost = await until(page.connection, ({ is }) => is === "lost");
  expect(lost).toMatchObject({ retryAt: expect.any(Number), reason: expect.any(String) });
  // What was read stays.
  expect(shownWords(page, chat).length).toBeGreaterThan(50);
  await gateway.restart();
  await until(page.connection, ({ is }) => is === "live");
  expect(states.filter((is) => is !== "lost")).toEqual(["live"]);
  const done = await answered(chat);
  expect(shownWords(page, chat).split(" ")).toHaveLength(80);
  const reloaded = openTab(gateway.url).openChat(chat.chatId);
  await until(reloaded.state, isReady);
  expect(answerIn(reloaded.state.get())).toEqual(answerIn(done));
});

test("a page that was opened before its gateway has everything once that is there", async () => {
  await gateway.kill();
  const page = openTab(gateway.url, nodeWorld(gateway.url, { faster: 10 }));
  const chat = page.openChat("chat_missing");
  await until(page.connection, ({ is }) => is === "lost");
  expect(page.session.state.get()).toEqual({ is: "unreachable" });
  expect(page.list.state.get().is).toBe("loading");
  await gateway.restart();
  await until(page.connection, ({ is }) => is === "live");
  await until(page.list.state, ({ is }) => is === "ready");
  await until(chat.state, ({ is }) => is === "missing");
});

test("a newer gateway than the one that the page is of is told", async () => {
  const world = nodeWorld(gateway.url, { faster: 10 });
  let version = "1.0.0";
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (!url.endsWith("/api/session")) return reply;
      return Response.json({ ...((await reply.json()) as object), version });
    },
  });
  await until(page.connection, ({ is }) => is === "live");
  version = "1.1.0";
  await gateway.kill();
  await gateway.restart();
  await until(page.connection, ({ is }) => is === "outdated");
  expect(page.session.state.get()).toMatchObject({ version: "1.1.0" });
});

test("a gateway that has lost everything is shown as it is", async () => {
  const page = openTab(gateway.url, nodeWorld(gateway.url, { faster: 10 }));
  const chat = await newChat(page, {});
  await until(page.list.state, (state) => state.is === "ready" && state.chats.length > 0);
  await gateway.kill();
  gateway.forget();
  await gateway.restart();
  await until(page.list.state, (state) => state.is === "ready" && state.chats.length === 0);
  await until(chat.state, ({ is }) => is === "missing");
  const anew = await newChat(page, {});
  const list = await until(
    page.list.state,
    (state) => state.is === "ready" && state.chats.length > 0,
  );
  expect(list).toMatchObject({ chats: [{ chat_id: anew.chatId }] });
});
