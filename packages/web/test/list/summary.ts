import type { ChatSummary } from "@deltawire/tasks/chats";

/** A chat of a list, with what matters to a test. */
export function summary(about: Partial<ChatSummary> & Pick<ChatSummary, "chat_id">): ChatSummary {
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
    first_words: "",
    excerpt: "",
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    stamp: 0,
    ...about,
  };
}
