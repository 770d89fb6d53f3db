import { wholeCharacters } from "@deltawire/tasks";
import { firstWords, type Chat, type ChatSummary } from "@deltawire/tasks/chats";

const most = 80;

/** Its title, and until it has one the first words that were said in it; empty where nothing was said. */
export function nameOfChat(chat: Chat): string {
  return isNamed(chat) ? chat.title : inShort(firstWords(chat));
}

/** The same, of a chat in a list. One of an earlier version may have no first words until it is saved: then the last. */
export function nameInList(
  chat: Pick<ChatSummary, "title" | "first_words"> & Partial<Pick<ChatSummary, "excerpt">>,
): string {
  return isNamed(chat) ? chat.title : inShort(chat.first_words || (chat.excerpt ?? ""));
}

function isNamed({ title }: { title: string }): boolean {
  return title.trim() !== "";
}

function inShort(words: string): string {
  return words.length > most ? `${wholeCharacters(words.slice(0, most)).trimEnd()}…` : words;
}
