import { findNode } from "@deltawire/tasks/chats";
import type { Chat, NewChatRecord, SaveChatOptions } from "@deltawire/tasks/chats";

/** The potentially large values that `createChats` writes as JSON. */
export function* listNewChatValues(chats: readonly NewChatRecord[]): Generator<object> {
  for (const { chat, replays = {} } of chats) {
    yield* Object.values(chat.nodes);
    yield* Object.values(replays);
  }
}

/** The potentially large values that `saveChat` writes or replaces as JSON. */
export function* listChangedValues(
  before: Chat,
  after: Chat,
  { removals = [], replays = {} }: SaveChatOptions,
): Generator<object> {
  for (const [nodeId, node] of Object.entries(before.nodes))
    if (findNode(after, nodeId) !== node) yield node;
  for (const [nodeId, node] of Object.entries(after.nodes))
    if (findNode(before, nodeId) !== node) yield node;
  yield* removals;
  yield* Object.values(replays);
}
