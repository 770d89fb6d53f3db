import { applyEdit, importChats, maxChatBytes } from "@deltawire/tasks/chats";
import type { Chat, ChatEdit, EditEnvironment } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { assertGrowthAllowed, assertImportSize } from "../../src/chats/chat-size.ts";

let idCount = 0;
const environment: EditEnvironment = {
  newId: (prefix) => `${prefix}_${(idCount += 1)}`,
  now: () => new Date(1_770_000_000_000).toISOString(),
};

function importChat(texts: readonly string[]): Chat {
  const list = texts.map((content) => ({ role: "user", content }));
  const read = importChats(list, { ...environment, hashBlob: () => "" });
  const [first] = read.ok ? read.chats : [];
  if (first === undefined) throw new Error("not imported");
  return first.chat;
}

function applyOrThrow(chat: Chat, edit: ChatEdit) {
  const result = applyEdit(chat, edit, environment);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

const createStoreWith = (bytes: number) => ({ getChatBytes: async () => bytes });

test("a message that would make a chat larger than the limit is rejected", async () => {
  const chat = importChat(["one"]);
  const parent = chat.roots[0] ?? "";
  const added = applyOrThrow(chat, {
    type: "add_message",
    parent,
    message: { text: "x".repeat(100_000) },
  });
  await assertGrowthAllowed(chat, added.chat, {}, createStoreWith(maxChatBytes - 110_000));
  await expect(
    assertGrowthAllowed(chat, added.chat, {}, createStoreWith(maxChatBytes - 90_000)),
  ).rejects.toMatchObject({
    code: "invalid_value",
    message: expect.stringContaining("continue in a new chat, or delete messages") as string,
  });
});

test("in a chat that exceeds the limit, nodes can be deleted and restored, and it can be renamed", async () => {
  const chat = importChat(["one", "two"]);
  const largeStore = createStoreWith(2 * maxChatBytes);
  const [node_id = ""] = chat.nodes[chat.roots[0] ?? ""]?.children ?? [];
  const cut = applyOrThrow(chat, { type: "delete_node", node_id, children: "delete" });
  await assertGrowthAllowed(chat, cut.chat, {}, largeStore);
  await assertGrowthAllowed(
    chat,
    applyOrThrow(chat, { type: "rename", title: "x" }).chat,
    {},
    largeStore,
  );
  if (cut.removal === undefined) throw new Error("nothing removed");
  const restored = applyOrThrow(cut.chat, { type: "restore", removal: cut.removal });
  const more = { restored: cut.removal.removal_id };
  await expect(
    assertGrowthAllowed(cut.chat, restored.chat, more, largeStore),
  ).resolves.toBeUndefined();
});

test("a change that deletes a long message and adds short ones is accepted even near the limit", async () => {
  const chat = importChat(["one", "x".repeat(100_000)]);
  const parent = chat.roots[0] ?? "";
  const [node_id = ""] = chat.nodes[parent]?.children ?? [];
  const cut = applyOrThrow(chat, { type: "delete_node", node_id, children: "delete" });
  const add = { type: "add_message", parent, message: { text: "short" } } as const;
  const changed = applyOrThrow(applyOrThrow(cut.chat, add).chat, add);
  await expect(
    assertGrowthAllowed(chat, changed.chat, {}, createStoreWith(maxChatBytes)),
  ).resolves.toBeUndefined();
});

test("a file whose chats exceed the limit in total is rejected", async () => {
  const chat = importChat(Array.from({ length: 9 }, () => "é".repeat(500_000)));
  await assertImportSize([{ chat }]);
  await expect(assertImportSize([{ chat }, { chat }])).rejects.toMatchObject({
    code: "invalid_import",
    message: expect.stringContaining("split the file") as string,
  });
});
