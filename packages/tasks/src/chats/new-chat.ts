import type { EditWorld } from "./edit.ts";
import type { NewChat } from "./chat-schemas.ts";
import type { Chat } from "./shapes.ts";
import { onOneLine } from "./words.ts";

/** Its values are taken as they are: `checkTitle`, `checkSettings` and `checkTags` say what is wrong with them. */
export function newChat({ title, settings = {}, tags = [] }: NewChat, world: EditWorld): Chat {
  const now = world.now();
  return {
    chat_id: world.newId("chat"),
    title: onOneLine(title ?? ""),
    title_by: title === undefined ? "nobody" : "user",
    created_at: now,
    updated_at: now,
    revision: 0,
    settings,
    tags,
    pinned: false,
    nodes: {},
    roots: [],
    chosen: {},
    bookmarks: [],
  };
}
