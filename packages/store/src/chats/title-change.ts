import { findRunningAnswers, type Chat } from "@deltawire/tasks/chats";

/**
 * "missing": an answer has ended in a chat without a title, and a process is about to generate one. "stored": the chat got a
 * title. Undefined: neither.
 */
export function findTitleChange(before: Chat, after: Chat): "missing" | "stored" | undefined {
  if (after.title_by !== "nobody") return before.title_by === "nobody" ? "stored" : undefined;
  const hasEnded = findRunningAnswers(after).length < findRunningAnswers(before).length;
  return hasEnded ? "missing" : undefined;
}
