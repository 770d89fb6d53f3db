import type { ChatSummary } from "@deltawire/tasks/chats";

/** Creates a chat summary with defaults. */
export function createChatSummary(
  about: Partial<ChatSummary> & Pick<ChatSummary, "chat_id">,
): ChatSummary {
  return {
    title: "",
    title_by: "nobody",
    created_at: "2026-11-15T08:00:00.000Z",
    updated_at: "2026-11-15T08:00:00.000Z",
    revision: 0,
    tags: [],
    pinned: false,
    messages: 0,
    running: 0,
    waiting: 0,
    opening_text: "",
    excerpt: "",
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    stamp: 0,
    ...about,
  };
}
