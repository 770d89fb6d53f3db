import { countMessages, maxChatBytes } from "@deltawire/tasks/chats";
import type { Chat, ChatStore, NewChatRecord, SaveChatOptions } from "@deltawire/tasks/chats";
import { runTimeSliced } from "../event-loop.ts";
import { ChatError } from "./chat-error.ts";

/*
 * A chat has at most `maxChatBytes`. A larger one can still be read, exported and made smaller; its running answers can
 * finish, and deletions can be undone.
 */

/** Throws if a change that adds messages makes the chat larger than the limit. Changes that make it smaller are allowed. */
export async function assertGrowthAllowed(
  before: Chat,
  after: Chat,
  { restored }: SaveChatOptions,
  store: Pick<ChatStore, "getChatBytes">,
): Promise<void> {
  if (restored !== undefined || countMessages(after) <= countMessages(before)) return;
  const growth = calculateGrowth(before.nodes, after.nodes);
  if (growth <= 0) return;
  const bytes = (await store.getChatBytes(before.chat_id)) + growth;
  if (bytes > maxChatBytes)
    throw new ChatError(
      "invalid_value",
      `the chat would be ${bytes} bytes long, but the limit is ${maxChatBytes}; continue in a new chat, or delete messages`,
    );
}

/** Returns the difference in bytes. Unchanged nodes must be the same objects. */
function calculateGrowth(before: Chat["nodes"], after: Chat["nodes"]): number {
  const ids = new Set([...Object.keys(before), ...Object.keys(after)]);
  let growth = 0;
  for (const id of ids) {
    const earlier = Object.hasOwn(before, id) ? before[id] : undefined;
    const node = Object.hasOwn(after, id) ? after[id] : undefined;
    if (earlier === node) continue;
    if (node !== undefined) growth += getJsonByteLength(node);
    if (earlier !== undefined) growth -= getJsonByteLength(earlier);
  }
  return growth;
}

/** Throws if the chats of a file exceed the limit in total. */
export async function assertImportSize(chats: readonly NewChatRecord[]): Promise<void> {
  const bytes = await runTimeSliced(countBytes(chats));
  if (bytes > maxChatBytes)
    throw new ChatError(
      "invalid_import",
      `the chats in the file are ${bytes} bytes long without their attachments, but the limit is ${maxChatBytes}; split the file`,
    );
}

function* countBytes(chats: readonly NewChatRecord[]): Generator<void, number> {
  let bytes = 0;
  for (const { chat, replays = {}, variables = [] } of chats)
    for (const value of [...Object.values(chat.nodes), ...Object.values(replays), ...variables]) {
      bytes += getJsonByteLength(value);
      yield;
    }
  return bytes;
}

function getJsonByteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
