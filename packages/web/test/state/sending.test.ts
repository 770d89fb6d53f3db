import { afterAll, beforeAll, expect, test } from "vitest";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab } from "../node-world.ts";
import { answered, newChat, say } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

test("a message whose reply is lost is sent again by itself, and once", async () => {
  const world = nodeWorld(gateway.url);
  let lost = 0;
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (!url.endsWith("/send") || lost >= 2) return reply;
      lost += 1;
      throw new TypeError("the reply was lost");
    },
  });
  const chat = await newChat(page, { model: "demo/clean" });
  expect(await say(page, chat, "Hello")).toBe(true);
  expect(lost).toBe(2);
  const { chat: now } = await answered(chat);
  expect(now.roots).toHaveLength(1);
  expect(page.draft(chat.chatId).get().text).toBe("");
});

test("a message that the gateway never got stays in its draft, also over a reload, and what is typed meanwhile stays too", async () => {
  const world = nodeWorld(gateway.url, { faster: 50 });
  const page = openTab(gateway.url, world);
  const chat = await newChat(page, { model: "demo/clean" });
  await gateway.kill();
  expect(await say(page, chat, "Hello")).toBe(false);
  expect(page.toasts.all.get()[0]?.text).toMatch(/Your message is kept/);
  const draft = page.draft(chat.chatId);
  world.leave();
  const later = openTab(gateway.url, nodeWorld(gateway.url, { storage: world.storage }));
  expect(later.draft(chat.chatId).get()).toEqual(draft.get());
  await gateway.restart();
  const sending = chat.send(draft.get(), null);
  draft.change({ text: "And then" });
  expect(await sending).toBe(true);
  expect(draft.get().text).toBe("And then");
  await answered(chat);
});
