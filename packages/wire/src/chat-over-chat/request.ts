import { callsOf, orderedMessages } from "../chat-upstream/ordered-messages.ts";
import { responseFormat, takenFormats } from "../chat-upstream/response-format.ts";
import { strictOrder } from "../chat-upstream/strict-order.ts";
import { settleSystem } from "../chat-upstream/system.ts";
import type { JsonObject } from "../json.ts";
import { chatToolName, legacyTools } from "../mapping/chat-tools.ts";
import { genericProfile, isAsSent, type Profile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { knownEffort } from "../mapping/effort.ts";
import type { Recall } from "../responses-over-chat/reasoning-replay.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../shapes/chat-request.ts";
import type { TextFormat } from "../shapes/responses-request.ts";
import type { ToolBridge } from "../tools/bridge.ts";
import { toolSchemas } from "../tools/definitions.ts";
import { mendedAssistants, withMediaApart } from "./messages.ts";
import { offeredChatTools } from "./offered-tools.ts";

export interface MendedChatRequestOptions {
  profile?: Profile;
  /** The upstream's name of the model, where it differs from what the client asked for. */
  upstreamModel?: string;
  /** Whether to ask for a stream; otherwise what the client asked for. */
  stream?: boolean;
  /** What is remembered of the reply that made a call, for what the client has dropped of it. */
  recall?: Recall;
}

export interface MendedChatRequest {
  body: ChatRequest;
  /** For the reply: names and parameters of the tools that were offered. */
  toolNames: ReadonlySet<string>;
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** For the reply: how calls are told to the client, where tools were offered otherwise than they were declared. */
  tools?: ToolBridge;
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
 * its call, roles and call ids as the profile has them, names and parameters of tools that every server takes, and usage
 * asked for. Where the profile's `chatRequests` is `as-sent` nothing else is changed, except by flags that were set for this
 * upstream. The list of `parameters` is not applied: it only knows what Responses clients ask for. Takes what
 * `decodeChatRequest` returned.
 */
export function mendedChatRequest(
  request: ChatRequest,
  options: MendedChatRequestOptions = {},
): MendedChatRequest {
  const { profile = genericProfile, upstreamModel = request.model, recall } = options;
  const repairs = new Repairs();
  const offered = offeredChatTools(request, profile, repairs);
  const assistants = mendedAssistants(request.messages, { profile, recall, repairs });
  const ordered = orderedMessages(assistants, profile, repairs);
  const movesMedia =
    profile.toolResultMedia === "user-message" && !isAsSent(profile, "toolResultMedia");
  const apart = movesMedia ? withMediaApart(ordered, repairs) : ordered;
  const format = mendedFormat(request, offered.tools, profile, repairs);
  const hints = [offered.hint, format.hint].filter((hint) => hint !== "");
  const settled = withRoles(apart, hints, profile, repairs);
  const body: ChatRequest = { ...request, model: upstreamModel };
  body.messages = strictOrder(settled, offered.tools.length > 0, profile, repairs);
  if (request.tools) put(body, "tools", offered.tools.length > 0 ? offered.tools : undefined);
  if (request.tool_choice) put(body, "tool_choice", offered.choice);
  if (request.response_format) put(body, "response_format", format.asked);
  if (request.reasoning_effort)
    put(body, "reasoning_effort", knownEffort(request.reasoning_effort, profile, repairs));
  settleStream(body, request, options, profile);
  nameLimit(body, profile, repairs);
  for (const name of profile.droppedParameters)
    if (body[name] !== undefined) {
      delete body[name];
      repairs.add("parameter_dropped", name);
    }
  const tools = [...offered.tools, ...legacyTools(request)];
  return {
    body: { ...body, ...profile.extraBody },
    toolNames: new Set(tools.flatMap((tool) => chatToolName(tool) ?? [])),
    toolSchemas: toolSchemas(tools),
    ...(offered.bridge === undefined ? {} : { tools: offered.bridge }),
    usedCallIds: new Set(
      request.messages.flatMap((message) => callsOf(message).map(({ id }) => id)),
    ),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    profile,
    repairs,
  };
}

/** The client's own value where it may stay: an empty list of tools is none of our business. */
function put<Name extends keyof ChatRequest>(
  body: ChatRequest,
  name: Name,
  value: ChatRequest[Name],
): void {
  if (value !== undefined) body[name] = value;
  else if (!Array.isArray(body[name]) || body[name].length > 0) delete body[name];
}

function mendedFormat(
  { response_format: given, messages }: ChatRequest,
  tools: readonly ChatTool[],
  profile: Profile,
  repairs: Repairs,
): { asked: ChatRequest["response_format"]; hint: string } {
  if (!given) return { asked: given, hint: "" };
  const taken = takenFormats(profile, tools);
  if (given.type === "text")
    return { asked: taken.formats === "none" ? undefined : given, hint: "" };
  const isStrict = given.type === "json_schema" && given.json_schema?.strict !== undefined;
  const strictStays = taken.strict || !isStrict;
  if (taken.formats === "any" && strictStays) return { asked: given, hint: "" };
  const format: TextFormat =
    given.type === "json_schema" ? { ...given.json_schema, type: given.type } : given;
  const saysJson = () => /json/i.test(JSON.stringify(messages));
  const { asked, hint } = responseFormat(format, saysJson, taken, repairs, "response_format");
  return { asked: asked?.type === given.type && strictStays ? given : asked, hint };
}

/** Whoever asks for a stream also asks what it cost: the log wants to know, and the client gets to see what it asked for. */
function settleStream(
  body: ChatRequest,
  request: ChatRequest,
  options: MendedChatRequestOptions,
  profile: Profile,
): void {
  const asked = request.stream ?? false;
  const stream = profile.alwaysStream || (options.stream ?? asked);
  if (stream !== asked) body.stream = stream;
  if (!stream) {
    if (asked) delete body.stream_options; // refused where there is no stream
    return;
  }
  if (profile.streamUsage) {
    body.stream_options = { ...request.stream_options, include_usage: true };
    return;
  }
  const { include_usage: _usage, ...rest } = request.stream_options ?? {};
  if (Object.keys(rest).length > 0) body.stream_options = rest;
  else delete body.stream_options;
}

/** Renames the limit of new tokens to the name that the upstream knows. */
function nameLimit(body: ChatRequest, profile: Profile, repairs: Repairs): void {
  const name = knownLimit(body, profile);
  if (name === undefined) return;
  const other = otherLimit(name);
  const limit = body[other];
  if (limit === undefined) return;
  delete body[other];
  if (limit === null) return;
  body[name] ??= limit;
  repairs.add("parameter_changed", `${other} -> ${name}`);
}

type LimitName = Profile["maxTokensParameter"];

/** Undefined if limits keep the names under which they were sent. */
function knownLimit(body: ChatRequest, profile: Profile): LimitName | undefined {
  const { maxTokensParameter, droppedParameters } = profile;
  if (!isAsSent(profile, "maxTokensParameter")) return maxTokensParameter;
  const refused = limitNames.filter((name) => droppedParameters.includes(name));
  const [name] = refused;
  return refused.length === 1 && name !== undefined && body[name] !== undefined
    ? otherLimit(name)
    : undefined;
}

const limitNames = ["max_tokens", "max_completion_tokens"] as const satisfies LimitName[];

function otherLimit(name: LimitName): LimitName {
  return name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

function withRoles(
  messages: ChatMessage[],
  hints: readonly string[],
  profile: Profile,
  repairs: Repairs,
): ChatMessage[] {
  const foreign = profile.developerRole === "system" ? "developer" : undefined;
  const mapped = messages.map((message) =>
    message.role === foreign ? { ...message, role: "system" as const } : message,
  );
  if (messages.some(({ role }) => role === foreign))
    repairs.add("role_mapped", "developer said as system");
  if (profile.laterSystem === "keep" && hints.length === 0) return mapped;
  return settleSystem("", mapped.map(withTextOnly), hints, profile, repairs);
}

/** Where system messages are moved, or joined with words of ours, their parts become one text. */
function withTextOnly(message: ChatMessage): ChatMessage {
  if (message.role !== "system" && message.role !== "developer") return message;
  if (typeof message.content === "string") return message;
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { ...message, content: texts.join("\n\n") };
}
