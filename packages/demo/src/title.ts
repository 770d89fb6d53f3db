import type { ChatRequest } from "@deltawire/wire";
import { joinText, type DemoConversation } from "./conversation.ts";

const maxTitleWords = 6;
const maxTitleLength = 40;

/** Returns a title if the instructions ask for one: the first words of the user's first message. */
export function buildRequestedTitle(
  { messages }: ChatRequest,
  { prompt, earlierPrompts }: DemoConversation,
): string | undefined {
  const isRequested = messages.some(
    ({ role, content }) =>
      (role === "system" || role === "developer") &&
      /\btitle for this conversation\b/i.test(joinText(content)),
  );
  if (!isRequested) return undefined;
  const firstPrompt = earlierPrompts[0] ?? prompt;
  // The conversation may be quoted in one message.
  const userText = /<user>\s*([^]*?)\s*(?:<\/user>|$)/.exec(firstPrompt)?.[1] ?? firstPrompt;
  const title = userText
    .replaceAll(/\s+/g, " ")
    .trim()
    .split(" ")
    .slice(0, maxTitleWords)
    .join(" ");
  const truncatedTitle = Array.from(title).slice(0, maxTitleLength).join("");
  return truncatedTitle.replace(/[\s.,;:!?。，；：！？]+$/u, "") || "A conversation";
}
