import { problem } from "./check-value.ts";
import { maxMessageCharacters } from "./chat-schemas.ts";
import type { Chat } from "./shapes.ts";
import { wordsOf } from "./words.ts";

/** Every change of a chat looks at all of it: with 100,000 messages that took 1 to 4 s. */
export const maxMessages = 10_000;

/**
 * Of all messages as JSON, and of all chats of an imported file. They are written in one transaction, so that nothing is
 * half stored: 16 MB took up to 110 ms, 25 MB up to 160 ms.
 */
export const maxChatBytes = 16 * 1024 * 1024;

/**
 * JSON values of a file of chats, so that every chat within its limits can be imported again. 10,000 short messages and
 * answers have 900,000; with 16 MB of the shortest fields there are 2,000,000.
 */
export const maxChatFileValues = 2_500_000;

/** All versions of all messages, and separators. */
export function countMessages({ nodes }: Chat): number {
  let count = 0;
  for (const node of Object.values(nodes))
    count += node.kind === "separator" ? 1 : node.versions.length;
  return count;
}

/** What of a chat that comes from a file is over a limit. A chat that was stored before may be larger. */
export function sizeProblems(chat: Chat, path: string): string[] {
  const count = countMessages(chat);
  if (count > maxMessages) return tooManyMessages(count, path);
  for (const node of Object.values(chat.nodes)) {
    if (node.kind === "separator") continue;
    for (const version of node.versions) {
      const { length } = wordsOf(version);
      if (length > maxMessageCharacters)
        return problem(
          path,
          `message ${node.node_id} has ${length} characters; a message can have at most ${maxMessageCharacters}`,
        );
    }
  }
  return [];
}

export function tooManyMessages(count: number, path: string): string[] {
  return problem(
    path,
    `has ${count} messages; a chat can have at most ${maxMessages}, so divide it into several`,
  );
}
