import { wholeCharacters } from "@deltawire/tasks";
import { chosenVersion, nextOnPath, wordsOf, type Chat } from "@deltawire/tasks/chats";

const most = 80;

/** Its title, and until it has one the first words that were asked in it; empty where nothing was said. */
export function nameOfChat(chat: Chat): string {
  if (chat.title.trim() !== "") return chat.title;
  let node = nextOnPath(chat, null);
  for (; node !== undefined; node = nextOnPath(chat, node.node_id)) {
    if (node.kind !== "user") continue;
    const words = wordsOf(chosenVersion(node))
      .trimStart()
      .slice(0, 10 * most);
    const line = words.trim().replaceAll(/\s+/g, " ");
    if (line.length > most) return `${wholeCharacters(line.slice(0, most)).trimEnd()}…`;
    if (line !== "") return line;
  }
  return "";
}
