import { expect, test } from "vitest";
import { createChat, createChatClient, type FetchLike } from "@deltawire/tasks/chats";
import { saveChatSettings } from "../../src/chat/chat-settings-dialog.tsx";
import { createCell } from "../../src/cell.ts";
import type { OpenChatState } from "../../src/state/app-store.ts";

function createTestChat() {
  const chat = createChat(
    {},
    { now: () => "2026-01-01T00:00:00Z", newId: (kind: string) => `${kind}_1` },
  );
  let reloads = 0;
  const state = createCell<OpenChatState>({
    status: "ready",
    chat,
    stamp: 1,
    usage: { input_tokens: 0, output_tokens: 0 },
    deletedAt: undefined,
  } as OpenChatState);
  return {
    chatId: chat.chat_id,
    state,
    reload: async () => void (reloads += 1),
    reloads: () => reloads,
  };
}

function createFakeClient(...replies: { status: number; body: object }[]) {
  const bodies: unknown[] = [];
  const fetch: FetchLike = async (_url, { body }) => {
    bodies.push(JSON.parse(String(body)));
    const { status, body: reply } = replies.shift() ?? { status: 500, body: {} };
    return { status, headers: { get: () => null }, text: async () => JSON.stringify(reply) };
  };
  return { client: createChatClient({ fetch, baseUrl: "" }), bodies };
}

const edits = [{ type: "settings", patch: { turns: 5 } }];

test("all changes of settings are sent as one edit with the known revision", async () => {
  const chat = createTestChat();
  const { client, bodies } = createFakeClient({ status: 200, body: {} });
  await saveChatSettings(client, chat, { turns: 5 });
  expect(bodies).toEqual([{ revision: 0, edits }]);
  expect(chat.reloads()).toBe(1);
});

test("after a conflict the edit is sent again with the current revision", async () => {
  const error = { message: "the chat has changed", code: "conflict" };
  const { client, bodies } = createFakeClient(
    { status: 409, body: { error, revision: 7, stamp: 9 } },
    { status: 200, body: {} },
  );
  await saveChatSettings(client, createTestChat(), { turns: 5 });
  expect(bodies).toEqual([
    { revision: 0, edits },
    { revision: 7, edits },
  ]);
});

test("a rejected edit throws an error that names the field, and the chat is not reloaded", async () => {
  const error = { message: "turns: must be …", code: "invalid_value", param: "settings.turns" };
  const chat = createTestChat();
  const { client } = createFakeClient({ status: 400, body: { error } });
  await expect(saveChatSettings(client, chat, { turns: 5 })).rejects.toMatchObject({
    param: "settings.turns",
  });
  expect(chat.reloads()).toBe(0);
});
