import type { ChatRequest } from "@deltawire/wire";
import { textOf, type Conversation } from "./conversation.ts";

const mostWords = 6;
const mostCharacters = 40;

/** A title for a conversation, if its instructions ask for one: the user's first words. */
export function titleAsked(
  { messages }: ChatRequest,
  { words, earlier }: Conversation,
): string | undefined {
  const asks = messages.some(
    ({ role, content }) =>
      (role === "system" || role === "developer") &&
      /\btitle for this conversation\b/i.test(textOf(content)),
  );
  if (!asks) return undefined;
  const said = earlier[0] ?? words;
  // The conversation may be told in one message.
  const first = /<user>\s*([^]*?)\s*(?:<\/user>|$)/.exec(said)?.[1] ?? said;
  const title = first.replaceAll(/\s+/g, " ").trim().split(" ").slice(0, mostWords).join(" ");
  const short = Array.from(title).slice(0, mostCharacters).join("");
  return short.replace(/[\s.,;:!?。，；：！？]+$/u, "") || "A conversation";
}
