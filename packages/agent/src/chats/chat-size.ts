import { countMessages, maxChatBytes } from "@deltawire/tasks/chats";
import type { Chat, ChatStore, ChatToCreate, SaveMore } from "@deltawire/tasks/chats";
import { runInTurns } from "../event-loop.ts";
import { ChatError } from "./chat-error.ts";

/*
 * Chats have at most `maxChatBytes`. One that is larger already can be read, exported and made smaller; its running answers
 * end, and what was deleted can be restored.
 */

/** Throws if a change adds messages beyond the limit. */
export async function checkGrowth(
  before: Chat,
  after: Chat,
  { restored }: SaveMore,
  store: Pick<ChatStore, "chatBytes">,
): Promise<void> {
  if (restored !== undefined || countMessages(after) <= countMessages(before)) return;
  let bytes = await store.chatBytes(before.chat_id);
  for (const [id, node] of Object.entries(after.nodes)) {
    const was = Object.hasOwn(before.nodes, id) ? before.nodes[id] : undefined;
    if (was !== node) bytes += jsonBytes(node) - (was === undefined ? 0 : jsonBytes(was));
  }
  if (bytes > maxChatBytes)
    throw new ChatError(
      "bad_value",
      `the chat would have ${bytes} bytes; a chat can have at most ${maxChatBytes}: continue in a new chat, or delete messages`,
    );
}

/** Throws if the chats of a file are larger than the limit together. */
export async function checkImportSize(chats: readonly ChatToCreate[]): Promise<void> {
  const bytes = await runInTurns(countBytes(chats));
  if (bytes > maxChatBytes)
    throw new ChatError(
      "bad_import",
      `the chats of the file have ${bytes} bytes without their attachments; at most ${maxChatBytes} can be imported at once: divide the file`,
    );
}

function* countBytes(chats: readonly ChatToCreate[]): Generator<void, number> {
  let bytes = 0;
  for (const { chat, replays = {}, variables = [] } of chats)
    for (const value of [...Object.values(chat.nodes), ...Object.values(replays), ...variables]) {
      bytes += jsonBytes(value);
      yield;
    }
  return bytes;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
