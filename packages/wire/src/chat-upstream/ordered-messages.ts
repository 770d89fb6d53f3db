import { isAsSent, type Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatMessage,
  ChatToolCall,
  ChatToolMessage,
} from "../shapes/chat-request.ts";
import { upstreamCallIds } from "./call-ids.ts";

/**
 * A Chat history in the order that servers insist on: every call followed at once by its results, one for each call, and
 * no result without its call. What needs no mending stays as it is, fields that we do not know included.
 */
export function orderedMessages(
  messages: readonly ChatMessage[],
  profile: Profile,
  repairs: Repairs,
): ChatMessage[] {
  const ids = upstreamIds(messages.flatMap(callsOf), profile, repairs);
  const results = resultsByCall(messages);
  const placed = new Set(results.values());
  const ordered: ChatMessage[] = [];
  for (const [at, message] of messages.entries()) {
    const calls = callsOf(message);
    if (message.role === "tool") {
      if (!placed.has(message)) ordered.push(orphan(message, repairs));
      continue;
    }
    if (calls.length === 0) {
      ordered.push(message);
      continue;
    }
    const idOf = (call: ChatToolCall) => ids.get(call) ?? call.id;
    const tool_calls = calls.map((call) => ({ ...call, id: idOf(call) }));
    ordered.push({ ...withoutEmptyContent(message as ChatAssistantMessage, profile), tool_calls });
    calls.forEach((call, nth) => {
      const result = results.get(call);
      if (result === undefined) repairs.add("call_without_result", call.id);
      else if (messages[at + 1 + nth] !== result)
        repairs.add("history_reordered", `the result of ${call.id}`);
      const { content = "aborted: the call was never answered" } = result ?? {};
      const empty = content.length === 0;
      if (empty) repairs.add("content_converted", `the empty result of ${call.id}`);
      const said = empty ? "(no output)" : content;
      ordered.push({ ...result, role: "tool", tool_call_id: idOf(call), content: said });
    });
  }
  return ordered;
}

/** The first result of an id belongs to the first call of that id. */
function resultsByCall(messages: readonly ChatMessage[]): Map<ChatToolCall, ChatToolMessage> {
  const waiting = new Map<string, ChatToolMessage[]>();
  for (const message of messages)
    if (message.role === "tool")
      waiting.set(message.tool_call_id, [...(waiting.get(message.tool_call_id) ?? []), message]);
  const results = new Map<ChatToolCall, ChatToolMessage>();
  for (const call of messages.flatMap(callsOf)) {
    const result = waiting.get(call.id)?.shift();
    if (result !== undefined) results.set(call, result);
  }
  return results;
}

/** A result without a call is refused by every server; as the user's words nothing of it is lost. */
function orphan({ tool_call_id: id, content }: ChatToolMessage, repairs: Repairs): ChatMessage {
  repairs.add("result_without_call", id);
  const label = `[Result of the tool call ${id}]`;
  return typeof content === "string"
    ? { role: "user", content: `${label}\n\n${content}` }
    : { role: "user", content: [{ type: "text", text: label }, ...content] };
}

/** A message that only calls tools: some servers refuse "" and some refuse null. */
function withoutEmptyContent(
  message: ChatAssistantMessage,
  profile: Profile,
): ChatAssistantMessage {
  const { content, ...rest } = message;
  if (content !== undefined && content !== null && content.length > 0) return message;
  if (isAsSent(profile, "emptyContent")) return message;
  if (profile.emptyContent === "omit") return rest;
  return { ...message, content: profile.emptyContent === "empty" ? "" : null };
}

export function callsOf(message: ChatMessage): ChatToolCall[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : [];
}

function upstreamIds(
  calls: readonly ChatToolCall[],
  profile: Profile,
  repairs: Repairs,
): Map<ChatToolCall, string> {
  const named = calls.map((call) => ({
    call,
    id: call.id,
    name: (call.type === "custom" ? call.custom : call.function).name,
  }));
  const ids = upstreamCallIds(named, profile.callIds, repairs);
  return new Map([...ids].map(([{ call }, id]) => [call, id]));
}

/** The form before tools, `function_call` and the role `function`, as calls and results with ids of their own. */
export function withoutLegacyCalls(messages: readonly ChatMessage[]): ChatMessage[] {
  let count = -1;
  return messages.map((message): ChatMessage => {
    if (message.role === "assistant" && message.function_call) {
      const { function_call: called, ...rest } = message;
      count += 1;
      const call: ChatToolCall = {
        id: `call_function_${count}`,
        type: "function",
        function: { name: called.name, arguments: called.arguments },
      };
      return { ...rest, tool_calls: [...(rest.tool_calls ?? []), call] };
    }
    if (message.role !== "function") return message;
    const id = `call_function_${Math.max(count, 0)}`;
    return { role: "tool", tool_call_id: id, content: message.content ?? "" };
  });
}
