import { isSentUnchanged, type UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatMessage,
  ChatToolCall,
  ChatToolMessage,
} from "../shapes/chat-request.ts";
import { assignCallIds } from "./call-ids.ts";

/**
 * Orders a Chat history as servers require: calls are directly followed by their results, one for each call, and
 * every result has a call. Valid messages stay unchanged, including unknown fields.
 */
export function orderMessages(
  messages: readonly ChatMessage[],
  profile: UpstreamProfile,
  repairs: Repairs,
): ChatMessage[] {
  const ids = mapCallIds(messages.flatMap(getToolCalls), profile, repairs);
  const results = matchResultsToCalls(messages);
  const matchedResults = new Set(results.values());
  const ordered: ChatMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const calls = getToolCalls(message);
    if (message.role === "tool") {
      if (!matchedResults.has(message)) ordered.push(orphanResultToUserMessage(message, repairs));
      continue;
    }
    if (calls.length === 0) {
      ordered.push(message);
      continue;
    }
    const getId = (call: ChatToolCall) => ids.get(call) ?? call.id;
    const tool_calls = calls.map((call) => ({ ...call, id: getId(call) }));
    ordered.push({
      ...normalizeEmptyContent(message as ChatAssistantMessage, profile),
      tool_calls,
    });
    calls.forEach((call, callIndex) => {
      const result = results.get(call);
      if (result === undefined) repairs.add("call_without_result", call.id);
      else if (messages[index + 1 + callIndex] !== result)
        repairs.add("history_reordered", `the result of ${call.id}`);
      const { content = "aborted: the call was never answered" } = result ?? {};
      const isEmpty = content.length === 0;
      if (isEmpty) repairs.add("content_converted", `the empty result of ${call.id}`);
      const resultContent = isEmpty ? "(no output)" : content;
      ordered.push({ ...result, role: "tool", tool_call_id: getId(call), content: resultContent });
    });
  }
  return ordered;
}

/** Matches calls and results with the same id in order, the first with the first. */
function matchResultsToCalls(messages: readonly ChatMessage[]): Map<ChatToolCall, ChatToolMessage> {
  const pendingResults = new Map<string, ChatToolMessage[]>();
  for (const message of messages)
    if (message.role === "tool")
      pendingResults.set(message.tool_call_id, [
        ...(pendingResults.get(message.tool_call_id) ?? []),
        message,
      ]);
  const results = new Map<ChatToolCall, ChatToolMessage>();
  for (const call of messages.flatMap(getToolCalls)) {
    const result = pendingResults.get(call.id)?.shift();
    if (result !== undefined) results.set(call, result);
  }
  return results;
}

/** Every server rejects a result without a call, so it is sent as a user message. */
function orphanResultToUserMessage(
  { tool_call_id: id, content }: ChatToolMessage,
  repairs: Repairs,
): ChatMessage {
  repairs.add("result_without_call", id);
  const label = `[Result of the tool call ${id}]`;
  return typeof content === "string"
    ? { role: "user", content: `${label}\n\n${content}` }
    : { role: "user", content: [{ type: "text", text: label }, ...content] };
}

/** Converts the empty content of a message with calls to the profile's form: some servers reject "", some reject null. */
function normalizeEmptyContent(
  message: ChatAssistantMessage,
  profile: UpstreamProfile,
): ChatAssistantMessage {
  const { content, ...rest } = message;
  if (content !== undefined && content !== null && content.length > 0) return message;
  if (isSentUnchanged(profile, "emptyContent")) return message;
  if (profile.emptyContent === "omit") return rest;
  return { ...message, content: profile.emptyContent === "empty" ? "" : null };
}

export function getToolCalls(message: ChatMessage): ChatToolCall[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : [];
}

function mapCallIds(
  calls: readonly ChatToolCall[],
  profile: UpstreamProfile,
  repairs: Repairs,
): Map<ChatToolCall, string> {
  const namedCalls = calls.map((call) => ({
    call,
    id: call.id,
    name: (call.type === "custom" ? call.custom : call.function).name,
  }));
  const ids = assignCallIds(namedCalls, profile.callIds, repairs);
  return new Map([...ids].map(([{ call }, id]) => [call, id]));
}

/** Converts the legacy field `function_call` and the legacy role `function` into calls and results with generated ids. */
export function convertLegacyCalls(messages: readonly ChatMessage[]): ChatMessage[] {
  let count = -1;
  return messages.map((message): ChatMessage => {
    if (message.role === "assistant" && message.function_call) {
      const { function_call: legacyCall, ...rest } = message;
      count += 1;
      const call: ChatToolCall = {
        id: `call_function_${count}`,
        type: "function",
        function: { name: legacyCall.name, arguments: legacyCall.arguments },
      };
      return { ...rest, tool_calls: [...(rest.tool_calls ?? []), call] };
    }
    if (message.role !== "function") return message;
    const id = `call_function_${Math.max(count, 0)}`;
    return { role: "tool", tool_call_id: id, content: message.content ?? "" };
  });
}
