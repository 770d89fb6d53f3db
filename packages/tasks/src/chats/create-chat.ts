import { upgradeSettings } from "./upgrade-settings.ts";
import type { EditEnvironment } from "./edit.ts";
import type { NewChatInput } from "./chat-schemas.ts";
import type { Chat } from "./chat-types.ts";
import { collapseWhitespace } from "./version-text.ts";

/** Creates an empty chat. Does not check the values: use `checkTitle`, `checkSettings` and `checkTags` first. */
export function createChat(
  { title, settings = {}, tags = [] }: NewChatInput,
  environment: EditEnvironment,
): Chat {
  const now = environment.now();
  return {
    chat_id: environment.newId("chat"),
    title: collapseWhitespace(title ?? ""),
    title_by: title === undefined ? "nobody" : "user",
    created_at: now,
    updated_at: now,
    revision: 0,
    settings: upgradeSettings(settings),
    tags,
    pinned: false,
    nodes: {},
    roots: [],
    chosen: {},
    bookmarks: [],
  };
}
