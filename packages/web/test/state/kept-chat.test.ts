import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OpenChat } from "../../src/state/page.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { nodeWorld, openTab, until } from "../node-world.ts";
import { answered, isReady, newChat, say } from "./chat-tab.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

/** A tab whose reads of one chat reach the gateway at once, and whose replies can be held back. */
async function heldTab() {
  const world = nodeWorld(gateway.url);
  let held: Promise<void> = Promise.resolve();
  let reads = 0;
  const page = openTab(gateway.url, {
    ...world,
    async fetch(url, init) {
      const reply = await world.fetch(url, init);
      if (!/\/api\/chats\/chat_\w+(\?since|$)/.test(url)) return reply;
      reads += 1;
      await held;
      return reply;
    },
  });
  const chat = await newChat(page, { model: "demo/clean" });
  await say(page, chat, "Hello");
  await answered(chat);
  // The title comes a little later.
  await until(chat.state, (state) => isReady(state) && state.chat.title !== "");
  const hold = () => {
    let release = () => undefined as void;
    held = new Promise((resolve) => (release = resolve));
    return release;
  };
  return { page, chat, hold, reads: () => reads };
}

function stampsOf(chat: OpenChat): number[] {
  const stamps: number[] = [];
  chat.state.subscribe(() => {
    const state = chat.state.get();
    if (isReady(state)) stamps.push(state.stamp);
  });
  return stamps;
}

test("a whole chat that was read before a change of our own does not take it back", async () => {
  const { chat, hold, reads } = await heldTab();
  const stamps = stampsOf(chat);
  const before = reads();
  const release = hold();
  const read = chat.readAnew();
  await expect.poll(reads, { timeout: 5000 }).toBe(before + 1);
  expect(await chat.change({ type: "rename", title: "Mine" })).toBe(true);
  expect(chat.state.get()).toMatchObject({ chat: { title: "Mine" } });
  release();
  await read;
  expect(chat.state.get()).toMatchObject({ chat: { title: "Mine" } });
  expect(stamps).toEqual(stamps.toSorted((one, other) => one - other));
});

test("a change of our own that was made on somebody else's is shown with it, not instead of it", async () => {
  const { page, chat, hold, reads } = await heldTab();
  const { chat: now } = await until(chat.state, isReady);
  const [root = ""] = now.roots;
  const stamps = stampsOf(chat);
  const before = reads();
  const release = hold();
  const client = createChatClient({ fetch, base: gateway.url });
  const pin = { type: "pin", node_id: root, value: true } as const;
  await client.edits(chat.chatId, { revision: now.revision, edits: [pin] });
  // The feed has told of it, and the reply that shows it is on its way.
  await expect.poll(reads, { timeout: 5000 }).toBe(before + 1);
  const sent = say(page, chat, "And then?");
  setTimeout(release, 100);
  expect(await sent).toBe(true);
  const after = await answered(chat);
  expect(after.chat.nodes[root]?.pinned).toBe(true);
  expect(Object.keys(after.chat.nodes)).toHaveLength(4);
  expect(stamps).toEqual(stamps.toSorted((one, other) => one - other));
  expect(after.chat).toEqual((await client.open(chat.chatId)).chat);
});
