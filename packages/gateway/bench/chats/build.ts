import { openStore } from "@deltawire/store";
import { chatOf, longChat, type Library } from "./library.ts";

/*
 * Makes the store of the bench, in a process of its own. Arguments: the file, how many chats, and of how many messages.
 * It tells its parent how far it is.
 */

/** What a builder tells. */
export type Building = { chats: number; isDone: boolean };

const [path = "", chats = "0", messages = "0"] = process.argv.slice(2);
const library: Library = { chats: Number(chats), messages: Number(messages) };
/** Messages that one transaction takes: more of them hold the write-ahead log in memory, fewer wait for the disk. */
const atOnce = 8000;

const tell = (told: Building): void => void process.send?.(told);
const store = await openStore({ path });
const step = Math.max(1, Math.floor(atOnce / Math.max(1, library.messages)));
for (let number = 0; number < library.chats; number += step) {
  const until = Math.min(number + step, library.chats);
  const batch = Array.from({ length: until - number }, (_, nth) => chatOf(number + nth, library));
  await store.createChats(batch);
  tell({ chats: until, isDone: false });
}
const { number, messages: length } = longChat;
await store.createChats([chatOf(number, { chats: library.chats, messages: length })]);
await store.close();
tell({ chats: library.chats, isDone: true });
process.disconnect?.();
