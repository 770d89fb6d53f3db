import { upstreamCallIds } from "../chat-upstream/call-ids.ts";
import { settleSystem } from "../chat-upstream/system.ts";
import type { JsonObject } from "../json.ts";
import { genericProfile, type Profile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatMessage,
  ChatRequest,
  ChatToolCall,
  ChatToolMessage,
} from "../shapes/chat-request.ts";
import { toolSchemas } from "../tools/definitions.ts";

export interface MendedChatRequest {
  body: ChatRequest;
  /** For the reply: names and parameters of the tools that were offered. */
  toolNames: ReadonlySet<string>;
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** For the reply: ids that a new call may not have (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: whether the client asked for usage. A whole reply always has it. */
  includeUsage: boolean;
  /** For the reply: how the upstream's replies differ. */
  profile: Profile;
  repairs: Repairs;
}

/**
 * A Chat client's request as a Chat upstream accepts it: every call followed at once by its results, no result without
 * its call, roles and call ids as the profile has them. Nothing else changes. Takes what `decodeChatRequest` returned.
 */
export function mendedChatRequest(
  request: ChatRequest,
  options: { profile?: Profile; upstreamModel?: string } = {},
): MendedChatRequest {
  const { profile = genericProfile, upstreamModel } = options;
  const repairs = new Repairs();
  const body: ChatRequest = {
    ...request,
    model: upstreamModel ?? request.model,
    messages: withRoles(inOrder(request.messages, profile, repairs), profile, repairs),
  };
  for (const name of profile.droppedParameters)
    if (body[name] !== undefined) {
      delete body[name];
      repairs.add("parameter_dropped", name);
    }
  const tools = request.tools ?? [];
  const names = tools.map((tool) => (tool.type === "custom" ? tool.custom : tool.function).name);
  return {
    body: { ...body, ...profile.extraBody },
    toolNames: new Set(names),
    toolSchemas: toolSchemas(tools),
    usedCallIds: new Set(
      request.messages.flatMap((message) => callsOf(message).map(({ id }) => id)),
    ),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    profile,
    repairs,
  };
}

function inOrder(
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
    ordered.push({
      ...(message as ChatAssistantMessage),
      ...emptied(message, profile),
      tool_calls,
    });
    calls.forEach((call, nth) => {
      const result = results.get(call);
      if (result === undefined) repairs.add("call_without_result", call.id);
      else if (messages[at + 1 + nth] !== result)
        repairs.add("history_reordered", `the result of ${call.id}`);
      const { content = "aborted: the call was never answered", ...rest } = result ?? {};
      ordered.push({ ...rest, role: "tool", tool_call_id: idOf(call), content });
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
function emptied({ content }: ChatMessage, profile: Profile): { content?: ChatContent | null } {
  const isEmpty = content === undefined || content === null || content.length === 0;
  if (!isEmpty || profile.emptyContent === "omit") return {};
  return { content: profile.emptyContent === "empty" ? "" : null };
}

function withRoles(messages: ChatMessage[], profile: Profile, repairs: Repairs): ChatMessage[] {
  const foreign = profile.developerRole === "system" ? "developer" : undefined;
  const mapped = messages.map((message) =>
    message.role === foreign ? { ...message, role: "system" as const } : message,
  );
  if (messages.some(({ role }) => role === foreign))
    repairs.add("role_mapped", "developer said as system");
  if (profile.laterSystem === "keep") return mapped;
  return settleSystem("", mapped.map(withTextOnly), [], profile, repairs);
}

/** Where system messages are moved, their parts become one text. */
function withTextOnly(message: ChatMessage): ChatMessage {
  if (message.role !== "system" || typeof message.content === "string") return message;
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { ...message, content: texts.join("\n\n") };
}

function callsOf(message: ChatMessage): ChatToolCall[] {
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
