import { openStore } from "@deltawire/store";
import { buildChat, longChat, type ChatLibrary } from "./chat-library.ts";

/*
 * Creates the store of the benchmark, in a separate process. Arguments: the file, the number of chats, and messages per chat.
 * Sends its progress to its parent.
 */

/** Sent to the parent process. */
export type BuildProgress = { chats: number; isDone: boolean };

const [path = "", chats = "0", messages = "0"] = process.argv.slice(2);
const library: ChatLibrary = { chats: Number(chats), messages: Number(messages) };
/** Messages per transaction: more keep the write-ahead log in memory, fewer wait for the disk. */
const messagesPerBatch = 8000;

const report = (progress: BuildProgress): void => void process.send?.(progress);
const store = await openStore({ path });
const step = Math.max(1, Math.floor(messagesPerBatch / Math.max(1, library.messages)));
for (let number = 0; number < library.chats; number += step) {
  const until = Math.min(number + step, library.chats);
  const batch = Array.from({ length: until - number }, (_, nth) =>
    buildChat(number + nth, library),
  );
  await store.createChats(batch);
  report({ chats: until, isDone: false });
}
const { number, messages: length } = longChat;
await store.createChats([buildChat(number, { chats: library.chats, messages: length })]);
await store.close();
report({ chats: library.chats, isDone: true });
process.disconnect?.();
