import type { ChatSummary } from "@deltawire/tasks/chats";

/** What a list calls a chat: its title, else the words that it ends with. Undefined: it has neither yet. */
export function chatName({
  title,
  excerpt,
}: Pick<ChatSummary, "title" | "excerpt">): string | undefined {
  if (title.trim() !== "") return title;
  return excerpt === "" ? undefined : excerpt;
}
