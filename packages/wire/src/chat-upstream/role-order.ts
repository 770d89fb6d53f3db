import { nonEmptyString } from "../json.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
} from "../shapes/chat-request.ts";
import { getToolCalls } from "./order-messages.ts";

/** Adapts a history to the profile's rules on the order of roles. Without such rules the history is not changed. */
export function enforceRoleOrder(
  history: readonly ChatMessage[],
  hasTools: boolean,
  profile: UpstreamProfile,
  repairs: Repairs,
): ChatMessage[] {
  let messages = [...history];
  if (!hasTools && !profile.callsWithoutTools) messages = renderCallsAsText(messages, repairs);
  if (!profile.consecutiveRoles) messages = mergeSameRoleMessages(messages, repairs);
  return profile.userAfterTool ? messages : insertAssistantAfterResults(messages, repairs);
}

/** Converts calls and their results into text. */
function renderCallsAsText(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message): ChatMessage => {
    if (message.role === "tool") {
      const label = `[Result of ${names.get(message.tool_call_id) ?? message.tool_call_id}]`;
      return { role: "user", content: joinContent(label, message.content) };
    }
    const calls = getToolCalls(message);
    if (calls.length === 0) return message;
    repairs.add("content_converted", "calls sent as text, because no tools are offered");
    for (const call of calls) names.set(call.id, getNameAndInput(call)[0]);
    const { tool_calls: _calls, ...rest } = message as ChatAssistantMessage;
    const callsText = calls
      .map((call) => `[Called ${getNameAndInput(call).join(" with ")}]`)
      .join("\n\n");
    return {
      ...rest,
      content: rest.content?.length ? joinContent(rest.content, callsText) : callsText,
    };
  });
}

function getNameAndInput(call: ChatToolCall): [name: string, input: string] {
  return call.type === "custom"
    ? [call.custom.name, call.custom.input]
    : [call.function.name, call.function.arguments];
}

function mergeSameRoleMessages(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  const out: ChatMessage[] = [];
  for (const message of messages) {
    const previous = out.at(-1);
    const merged = previous === undefined ? undefined : mergeMessages(previous, message);
    if (merged === undefined) {
      out.push(message);
      continue;
    }
    repairs.add("history_reordered", `two consecutive ${message.role} messages merged`);
    out[out.length - 1] = merged;
  }
  return out;
}

/** Merges two messages of the same role; undefined for results and for calls, which must stay separate. */
function mergeMessages(first: ChatMessage, second: ChatMessage): ChatMessage | undefined {
  if (first.role !== second.role || first.role === "tool" || first.role === "function")
    return undefined;
  if (getToolCalls(first).length > 0) return undefined;
  const contents = [first.content, second.content];
  const [firstContent, secondContent] = contents.flatMap((content) =>
    content?.length ? [content] : [],
  );
  if (firstContent === undefined) return { ...first, ...second };
  return {
    ...first,
    ...second,
    content: secondContent === undefined ? firstContent : joinContent(firstContent, secondContent),
  } as ChatMessage;
}

function joinContent(first: ChatContent, second: ChatContent): ChatContent {
  if (typeof first === "string" && typeof second === "string")
    return [first, second].filter(nonEmptyString).join("\n\n");
  return [...toContentParts(first), ...toContentParts(second)];
}

function toContentParts(content: ChatContent): ChatContentPart[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** Inserts an assistant message between a result and the next user message. */
function insertAssistantAfterResults(
  messages: readonly ChatMessage[],
  repairs: Repairs,
): ChatMessage[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "user" || messages[index - 1]?.role !== "tool") return [message];
    repairs.add(
      "history_reordered",
      "an assistant message inserted between a result and a user message",
    );
    return [{ role: "assistant", content: "Noted." } as const, message];
  });
}
