import { callsOf, orderedMessages } from "../chat-upstream/ordered-messages.ts";
import { settleSystem } from "../chat-upstream/system.ts";
import type { JsonObject } from "../json.ts";
import { genericProfile, type Profile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../shapes/chat-request.ts";
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
 * A Chat client's request with a history that a Chat upstream accepts: every call followed at once by its results, no
 * result without its call, roles, call ids and dropped parameters as the profile has them. Nothing else changes: tools,
 * formats and limits are what the client chose for this upstream. Takes what `decodeChatRequest` returned.
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
    messages: withRoles(orderedMessages(request.messages, profile, repairs), profile, repairs),
  };
  for (const name of profile.droppedParameters)
    if (body[name] !== undefined) {
      delete body[name];
      repairs.add("parameter_dropped", name);
    }
  const tools = [...(request.tools ?? []), ...legacyTools(request)];
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
  if (message.role !== "system" && message.role !== "developer") return message;
  if (typeof message.content === "string") return message;
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { ...message, content: texts.join("\n\n") };
}

/** `functions`, the form before tools. */
export function legacyTools(request: ChatRequest): ChatTool[] {
  return (request.functions ?? []).map((described) => ({ type: "function", function: described }));
}
