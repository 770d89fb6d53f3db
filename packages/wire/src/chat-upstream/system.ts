import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatMessage, ChatSystemMessage } from "../shapes/chat-request.ts";

/**
 * One system message in front: the instructions, whatever system messages the history begins with, and our
 * own hints. What comes later stays, moves there or is said by the user, as the profile has it.
 */
export function settleSystem(
  instructions: string,
  history: readonly ChatMessage[],
  hints: readonly string[],
  profile: Profile,
  repairs: Repairs,
): ChatMessage[] {
  const begin = history.findIndex((message) => !isSystem(message));
  const leading = (begin < 0 ? history : history.slice(0, begin)).filter(isSystem);
  const rest = begin < 0 ? [] : history.slice(begin);
  const later = profile.laterSystem === "hoist" ? rest.filter(isSystem) : [];
  for (const { role } of later)
    repairs.add("role_mapped", `a later ${role} message moved to the front`);
  const text = [instructions, ...[...leading, ...later].map(contentOf), ...hints]
    .filter((piece) => piece !== "")
    .join("\n\n");
  const role = profile.developerRole;
  if (role === "system" && history.some((message) => message.role === "developer"))
    repairs.add("role_mapped", "developer said as system");
  const messages: ChatMessage[] = text === "" ? [] : [{ role, content: text }];
  for (const message of rest) {
    if (!isSystem(message)) messages.push(message);
    else if (profile.laterSystem === "keep") {
      messages.push(role === "system" ? { ...message, role } : message);
    } else if (profile.laterSystem === "user") {
      repairs.add("role_mapped", `a later ${message.role} message said as the user`);
      messages.push({ role: "user", content: `<system>\n${contentOf(message)}\n</system>` });
    }
  }
  return messages;
}

function isSystem(message: ChatMessage): message is ChatSystemMessage {
  return message.role === "system" || message.role === "developer";
}

function contentOf({ content }: ChatSystemMessage): string {
  return typeof content === "string" ? content : "";
}
