import { createChatClient } from "@deltawire/tasks/chats";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OpenChat } from "../../src/state/app-store.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { createNodeEnvironment, openTestApp, waitForCell } from "../node-environment.ts";
import { waitForAnswer, isReady, openNewChat, sendMessage } from "./chat-helpers.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.close());

/** Opens a tab with a chat whose replies the test can delay. */
async function openPausedTab() {
  const environment = createNodeEnvironment(gateway.url);
  let held: Promise<void> = Promise.resolve();
  let reads = 0;
  const page = openTestApp(gateway.url, {
    ...environment,
    async fetch(url, init) {
      const reply = await environment.fetch(url, init);
      if (!/\/api\/chats\/chat_\w+(\?since|$)/.test(url)) return reply;
      reads += 1;
      await held;
      return reply;
    },
  });
  const chat = await openNewChat(page, { model: "demo/clean" });
  await sendMessage(page, chat, "Hello");
  await waitForAnswer(chat);
  // The title is generated a little later.
  await waitForCell(chat.state, (state) => isReady(state) && state.chat.title !== "");
  const hold = () => {
    let release = () => undefined as void;
    held = new Promise((resolve) => (release = resolve));
    return release;
  };
  return { page, chat, hold, reads: () => reads };
}

function recordStamps(chat: OpenChat): number[] {
  const stamps: number[] = [];
  chat.state.subscribe(() => {
    const state = chat.state.get();
    if (isReady(state)) stamps.push(state.stamp);
  });
  return stamps;
}

test("a reload that started before a change of this tab does not revert the change", async () => {
  const { chat, hold, reads } = await openPausedTab();
  const stamps = recordStamps(chat);
  const before = reads();
  const release = hold();
  const read = chat.reload();
  await expect.poll(reads, { timeout: 5000 }).toBe(before + 1);
  expect(await chat.change({ type: "rename", title: "Mine" })).toBe(true);
  expect(chat.state.get()).toMatchObject({ chat: { title: "Mine" } });
  release();
  await read;
  expect(chat.state.get()).toMatchObject({ chat: { title: "Mine" } });
  expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
});

test("a change of this tab is shown together with another client's earlier change", async () => {
  const { page, chat, hold, reads } = await openPausedTab();
  const { chat: now } = await waitForCell(chat.state, isReady);
  const [root = ""] = now.roots;
  const stamps = recordStamps(chat);
  const before = reads();
  const release = hold();
  const client = createChatClient({ fetch, baseUrl: gateway.url });
  const pin = { type: "pin", node_id: root, value: true } as const;
  await client.applyEdits(chat.chatId, { revision: now.revision, edits: [pin] });
  // The other client's change was announced, and the request that loads it is pending.
  await expect.poll(reads, { timeout: 5000 }).toBe(before + 1);
  const sent = sendMessage(page, chat, "And then?");
  setTimeout(release, 100);
  expect(await sent).toBe(true);
  const after = await waitForAnswer(chat);
  expect(after.chat.nodes[root]?.pinned).toBe(true);
  expect(Object.keys(after.chat.nodes)).toHaveLength(4);
  expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
  expect(after.chat).toEqual((await client.get(chat.chatId)).chat);
});
