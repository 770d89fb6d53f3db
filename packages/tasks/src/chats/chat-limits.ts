import { createProblem } from "./value-checks.ts";
import { maxMessageCharacters } from "./chat-schemas.ts";
import type { Chat } from "./chat-types.ts";
import { getVersionText } from "./version-text.ts";

/** Maximum number of messages in a chat. Every change reads the complete chat, which took 1 to 4 s with 100,000 messages. */
export const maxMessages = 10_000;

/**
 * Limit for the JSON of all messages of a chat, and for all chats of an imported file. They are written in one transaction:
 * 16 MB took up to 110 ms, 25 MB up to 160 ms.
 */
export const maxChatBytes = 16 * 1024 * 1024;

/**
 * Maximum number of JSON values in a chat file. High enough that every chat within its limits can be imported again: 10,000
 * short messages and answers have 900,000 values; 16 MB of the shortest fields have 2,000,000.
 */
export const maxChatFileValues = 2_500_000;

/** Counts all versions of all messages, and the separators. */
export function countMessages({ nodes }: Chat): number {
  let count = 0;
  for (const node of Object.values(nodes))
    count += node.kind === "separator" ? 1 : node.versions.length;
  return count;
}

/** Returns which limits an imported chat exceeds. Chats that are already stored may be larger. */
export function findSizeProblems(chat: Chat, path: string): string[] {
  const count = countMessages(chat);
  if (count > maxMessages) return createTooManyMessagesProblem(count, path);
  for (const node of Object.values(chat.nodes)) {
    if (node.kind === "separator") continue;
    for (const version of node.versions) {
      const { length } = getVersionText(version);
      if (length > maxMessageCharacters)
        return createProblem(
          path,
          `message ${node.node_id} has ${length} characters; a message can have at most ${maxMessageCharacters}`,
        );
    }
  }
  return [];
}

export function createTooManyMessagesProblem(count: number, path: string): string[] {
  return createProblem(
    path,
    `has ${count} messages, but a chat can have at most ${maxMessages}; split it into several chats`,
  );
}
