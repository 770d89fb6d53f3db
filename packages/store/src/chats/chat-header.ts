import type { Chat, StoredChat } from "@deltawire/tasks/chats";

/** A chat without its nodes. */
export type StoredChatHeader = Omit<Chat, "nodes">;

export function toHeader({ nodes: _nodes, ...header }: Chat): StoredChatHeader {
  return header;
}

/** Combines a chat with the columns that are not part of it. */
export function toStoredChat(
  chat: Chat,
  { stamp, deleted_at, owner }: { stamp: number; deleted_at: string | null; owner: string },
): StoredChat {
  return {
    chat,
    stamp,
    ...(deleted_at === null ? {} : { deleted_at }),
    ...(owner === "" ? {} : { owner }),
  };
}
