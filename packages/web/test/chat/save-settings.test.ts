import { expect, test } from "vitest";
import { newChat, createChatClient, type FetchLike } from "@deltawire/tasks/chats";
import { saveSettings } from "../../src/chat/settings-dialog.tsx";
import { cell } from "../../src/cell.ts";
import type { OpenChatState } from "../../src/state/page.ts";

function chatForTests() {
  const chat = newChat(
    {},
    { now: () => "2026-01-01T00:00:00Z", newId: (kind: string) => `${kind}_1` },
  );
  let reads = 0;
  const state = cell<OpenChatState>({
    is: "ready",
    chat,
    stamp: 1,
    usage: { input_tokens: 0, output_tokens: 0 },
    deletedAt: undefined,
  } as OpenChatState);
  return {
    chatId: chat.chat_id,
    state,
    readAnew: async () => void (reads += 1),
    reads: () => reads,
  };
}

function gateway(...replies: { status: number; body: object }[]) {
  const bodies: unknown[] = [];
  const fetch: FetchLike = async (_url, { body }) => {
    bodies.push(JSON.parse(String(body)));
    const { status, body: reply } = replies.shift() ?? { status: 500, body: {} };
    return { status, headers: { get: () => null }, text: async () => JSON.stringify(reply) };
  };
  return { client: createChatClient({ fetch, base: "" }), bodies };
}

const edits = [{ type: "settings", patch: { turns: 5 } }];

test("all changes go as one edit, at the revision that was seen", async () => {
  const chat = chatForTests();
  const { client, bodies } = gateway({ status: 200, body: {} });
  await saveSettings(client, chat, { turns: 5 });
  expect(bodies).toEqual([{ revision: 0, edits }]);
  expect(chat.reads()).toBe(1);
});

test("a chat that somebody else has touched meanwhile is changed at the revision that it has", async () => {
  const error = { message: "the chat has changed meanwhile", code: "conflict" };
  const { client, bodies } = gateway(
    { status: 409, body: { error, revision: 7, stamp: 9 } },
    { status: 200, body: {} },
  );
  await saveSettings(client, chatForTests(), { turns: 5 });
  expect(bodies).toEqual([
    { revision: 0, edits },
    { revision: 7, edits },
  ]);
});

test("what the gateway refuses is thrown with its place, and nothing is read anew", async () => {
  const error = { message: "turns: must be …", code: "bad_value", param: "settings.turns" };
  const chat = chatForTests();
  const { client } = gateway({ status: 400, body: { error } });
  await expect(saveSettings(client, chat, { turns: 5 })).rejects.toMatchObject({
    param: "settings.turns",
  });
  expect(chat.reads()).toBe(0);
});
