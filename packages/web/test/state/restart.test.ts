import { afterAll, beforeAll, expect, test } from "vitest";
import type { GatewayConnectionState } from "../../src/state/app-store.ts";
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

test("an answer is followed to its end after the gateway is killed and restarted in the middle of it", async () => {
  const page = openTestApp(gateway.url, createNodeEnvironment(gateway.url, { faster: 4 }));
  const chat = await openNewChat(page, { model: "demo/clean" });
  await sendMessage(page, chat, "long 80");
  const taskId = getLastAnswer(chat.state.get())?.task_id ?? "";
  await waitForCell(page.taskTree(taskId), () => getVisibleAnswerText(page, chat).length > 50);
  const states: GatewayConnectionState["status"][] = [];
  page.connection.subscribe(() => states.push(page.connection.get().status));
  await gateway.kill();
  const lost = await waitForCell(page.connection, ({ status }) => status === "lost");
  expect(lost).toMatchObject({ retryAt: expect.any(Number), reason: expect.any(String) });
  // The text stays visible.
  expect(getVisibleAnswerText(page, chat).length).toBeGreaterThan(50);
  await gateway.restart();
  await waitForCell(page.connection, ({ status }) => status === "live");
  expect(states.filter((is) => is !== "lost")).toEqual(["live"]);
  const done = await waitForAnswer(chat);
  expect(getVisibleAnswerText(page, chat).split(" ")).toHaveLength(80);
  const reloaded = openTestApp(gateway.url).openChat(chat.chatId);
  await waitForCell(reloaded.state, isReady);
  expect(getLastAnswer(reloaded.state.get())).toEqual(getLastAnswer(done));
});

test("a page that is opened before its gateway starts loads everything when the gateway is up", async () => {
  await gateway.kill();
  const page = openTestApp(gateway.url, createNodeEnvironment(gateway.url, { faster: 10 }));
  const chat = page.openChat("chat_missing");
  await waitForCell(page.connection, ({ status }) => status === "lost");
  expect(page.session.state.get()).toEqual({ status: "unreachable" });
  expect(page.chatList.state.get().status).toBe("loading");
  await gateway.restart();
  await waitForCell(page.connection, ({ status }) => status === "live");
  await waitForCell(page.chatList.state, ({ status }) => status === "ready");
  await waitForCell(chat.state, ({ status }) => status === "missing");
});

test("the page is reported as outdated if the gateway has another version", async () => {
  const environment = createNodeEnvironment(gateway.url, { faster: 10 });
  let version = "1.0.0";
  const page = openTestApp(gateway.url, {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (!url.endsWith("/api/session")) return reply;
      return Response.json({ ...((await reply.json()) as object), version });
    },
  });
  await waitForCell(page.connection, ({ status }) => status === "live");
  version = "1.1.0";
  await gateway.kill();
  await gateway.restart();
  await waitForCell(page.connection, ({ status }) => status === "outdated");
  expect(page.session.state.get()).toMatchObject({ version: "1.1.0" });
});

test("chats disappear from the page if the gateway has lost its data", async () => {
  const page = openTestApp(gateway.url, createNodeEnvironment(gateway.url, { faster: 10 }));
  const chat = await openNewChat(page, {});
  await waitForCell(
    page.chatList.state,
    (state) => state.status === "ready" && state.chats.length > 0,
  );
  await gateway.kill();
  gateway.deleteData();
  await gateway.restart();
  await waitForCell(
    page.chatList.state,
    (state) => state.status === "ready" && state.chats.length === 0,
  );
  await waitForCell(chat.state, ({ status }) => status === "missing");
  const anew = await openNewChat(page, {});
  const list = await waitForCell(
    page.chatList.state,
    (state) => state.status === "ready" && state.chats.length > 0,
  );
  expect(list).toMatchObject({ chats: [{ chat_id: anew.chatId }] });
});
