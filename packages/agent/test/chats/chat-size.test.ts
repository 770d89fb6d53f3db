import { applyEdit, importChats, maxChatBytes } from "@deltawire/tasks/chats";
import type { Chat, ChatEdit, EditWorld } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { checkGrowth, checkImportSize } from "../../src/chats/chat-size.ts";

let last = 0;
const world: EditWorld = {
  newId: (prefix) => `${prefix}_${(last += 1)}`,
  now: () => new Date(1_770_000_000_000).toISOString(),
};

function chatOf(texts: readonly string[]): Chat {
  const list = texts.map((content) => ({ role: "user", content }));
  const read = importChats(list, { ...world, blobHash: () => "" });
  const [first] = read.ok ? read.chats : [];
  if (first === undefined) throw new Error("not imported");
  return first.chat;
}

function edited(chat: Chat, edit: ChatEdit) {
  const result = applyEdit(chat, edit, world);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

const storing = (bytes: number) => ({ chatBytes: async () => bytes });

test("a message that makes a chat larger than the limit is refused, one that fits is not", async () => {
  const chat = chatOf(["one"]);
  const parent = chat.roots[0] ?? "";
  const added = edited(chat, {
    type: "add_message",
    parent,
    message: { text: "x".repeat(100_000) },
  });
  await checkGrowth(chat, added.chat, {}, storing(maxChatBytes - 110_000));
  await expect(
    checkGrowth(chat, added.chat, {}, storing(maxChatBytes - 90_000)),
  ).rejects.toMatchObject({
    code: "bad_value",
    message: expect.stringContaining("continue in a new chat, or delete messages") as string,
  });
});

test("a chat that is larger already can be made smaller, renamed and restored", async () => {
  const chat = chatOf(["one", "two"]);
  const large = storing(2 * maxChatBytes);
  const [node_id = ""] = chat.nodes[chat.roots[0] ?? ""]?.children ?? [];
  const cut = edited(chat, { type: "delete_node", node_id, children: "delete" });
  await checkGrowth(chat, cut.chat, {}, large);
  await checkGrowth(chat, edited(chat, { type: "rename", title: "x" }).chat, {}, large);
  if (cut.removal === undefined) throw new Error("nothing removed");
  const back = edited(cut.chat, { type: "restore", removal: cut.removal });
  const more = { restored: cut.removal.removal_id };
  await expect(checkGrowth(cut.chat, back.chat, more, large)).resolves.toBeUndefined();
});

test("a file whose chats are larger than the limit together is refused", async () => {
  const chat = chatOf(Array.from({ length: 9 }, () => "é".repeat(500_000)));
  await checkImportSize([{ chat }]);
  await expect(checkImportSize([{ chat }, { chat }])).rejects.toMatchObject({
    code: "bad_import",
    message: expect.stringContaining("divide the file") as string,
  });
});
