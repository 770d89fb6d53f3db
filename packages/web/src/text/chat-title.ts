import { trimSplitSurrogates } from "@deltawire/tasks";
import { getOpeningText, type Chat, type ChatSummary } from "@deltawire/tasks/chats";

const maxTitleLength = 80;

/** Returns the title of a chat. If it has none, returns the start of its first message, or an empty string. */
export function getChatTitle(chat: Chat): string {
  return hasTitle(chat) ? chat.title : truncateTitle(getOpeningText(chat));
}

/** Like `getChatTitle`, for an entry of the chat list. Uses the excerpt of chats from earlier versions, which have no `opening_text`. */
export function getListedChatTitle(
  chat: Pick<ChatSummary, "title" | "opening_text"> & Partial<Pick<ChatSummary, "excerpt">>,
): string {
  return hasTitle(chat) ? chat.title : truncateTitle(chat.opening_text || (chat.excerpt ?? ""));
}

function hasTitle({ title }: { title: string }): boolean {
  return title.trim() !== "";
}

function truncateTitle(text: string): string {
  return text.length > maxTitleLength
    ? `${trimSplitSurrogates(text.slice(0, maxTitleLength)).trimEnd()}…`
    : text;
}
