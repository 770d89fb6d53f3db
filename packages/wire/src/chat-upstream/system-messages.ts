import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import { joinTextParts } from "../mapping/chat-content.ts";
import type { ChatContent, ChatMessage, ChatSystemMessage } from "../shapes/chat-request.ts";

/**
 * Returns the history with one system message at the start: the instructions, the leading system messages, and `hints`
 * (instructions that replace parameters which the upstream does not support).
 * Later system messages stay, are merged into it or become user messages, depending on the profile.
 */
export function mergeSystemMessages(
  instructions: string,
  history: readonly ChatMessage[],
  hints: readonly string[],
  profile: UpstreamProfile,
  repairs: Repairs,
): ChatMessage[] {
  const firstNonSystemIndex = history.findIndex((message) => !isSystemMessage(message));
  const leadingMessages = (
    firstNonSystemIndex < 0 ? history : history.slice(0, firstNonSystemIndex)
  ).filter(isSystemMessage);
  const rest = firstNonSystemIndex < 0 ? [] : history.slice(firstNonSystemIndex);
  const hoistedMessages =
    profile.lateSystemMessages === "hoist" ? rest.filter(isSystemMessage) : [];
  for (const { role } of hoistedMessages)
    repairs.add("role_mapped", `a later ${role} message moved to the start`);
  const merged = [...leadingMessages, ...hoistedMessages].map(({ content }) => content);
  const content = mergeContents([instructions, ...merged, ...hints]);
  const role = profile.developerRole;
  if (role === "system" && history.some((message) => message.role === "developer"))
    repairs.add("role_mapped", "developer sent as system");
  const messages: ChatMessage[] = content === "" ? [] : [{ role, content }];
  for (const message of rest) {
    if (!isSystemMessage(message)) messages.push(message);
    else if (profile.lateSystemMessages === "keep") {
      messages.push(role === "system" ? { ...message, role } : message);
    } else if (profile.lateSystemMessages === "user") {
      repairs.add("role_mapped", `a later ${message.role} message sent as user`);
      messages.push({ role: "user", content: `<system>\n${getTextContent(message)}\n</system>` });
    }
  }
  return messages;
}

function isSystemMessage(message: ChatMessage): message is ChatSystemMessage {
  return message.role === "system" || message.role === "developer";
}

/** Joins the contents of several messages. If one has parts, which may have cache breakpoints, the result has parts too. */
function mergeContents(contents: readonly ChatContent[]): ChatContent {
  const texts = contents.filter((content) => typeof content === "string");
  if (texts.length === contents.length) return texts.filter((text) => text !== "").join("\n\n");
  return contents.flatMap((content) => {
    if (typeof content !== "string") return content;
    return content === "" ? [] : [{ type: "text", text: content }];
  });
}

function getTextContent({ content }: ChatSystemMessage): string {
  return typeof content === "string" ? content : joinTextParts(content);
}
