import { getToolCalls } from "../chat-upstream/order-messages.ts";
import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import { toChatContent, getMediaParts, joinTextParts } from "../mapping/chat-content.ts";
import { reasoningFieldNames, extractReasoningText } from "../mapping/reasoning.ts";
import { isSentUnchanged, type UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import {
  resolvePriorReasoning,
  buildReasoningFields,
  formatThinkTags,
  type PriorReasoning,
  type LookupReasoning,
} from "../responses-over-chat/reasoning-replay.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
} from "../shapes/chat-request.ts";
import { shortenToolName } from "../tools/tool-names.ts";
import { sendsCustomToolsAsFunctions } from "./offer-chat-tools.ts";

export interface RepairMessagesOptions {
  profile: UpstreamProfile;
  lookupReasoning: LookupReasoning | undefined;
  repairs: Repairs;
}

/** Repairs the assistant messages of a history for the upstream. Valid messages are returned unchanged. */
export function repairAssistantMessages(
  messages: readonly ChatMessage[],
  options: RepairMessagesOptions,
): ChatMessage[] {
  const turnStart = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, index) => {
    if (message.role === "tool") return shortenResultName(message);
    if (message.role !== "assistant") return message;
    const withRepairedCalls = repairCalls(message, options);
    return isSentUnchanged(options.profile, "reasoningField")
      ? withRepairedCalls
      : repairReasoning(withRepairedCalls, index > turnStart, options);
  });
}

/** Shortens the tool's name, which some clients repeat in its result. */
function shortenResultName<Message extends ChatMessage>(message: Message): Message {
  const originalName = nonEmptyString(message["name"]);
  return originalName === undefined || shortenToolName(originalName) === originalName
    ? message
    : { ...message, name: shortenToolName(originalName) };
}

function repairCalls(
  message: ChatAssistantMessage,
  options: RepairMessagesOptions,
): ChatAssistantMessage {
  const calls = getToolCalls(message);
  const tool_calls = calls.map((call) => repairCall(call, options));
  return tool_calls.every((call, index) => call === calls[index])
    ? message
    : { ...message, tool_calls };
}

function repairCall(
  call: ChatToolCall,
  { profile, lookupReasoning }: RepairMessagesOptions,
): ChatToolCall {
  const signature =
    call.extra_content === undefined ? findSignature(call.id, lookupReasoning) : undefined;
  const extra = signature === undefined ? {} : { extra_content: signature };
  if (call.type !== "custom") {
    const name = shortenToolName(call.function.name);
    if (name === call.function.name && signature === undefined) return call;
    return { ...call, ...extra, function: { ...call.function, name } };
  }
  const name = shortenToolName(call.custom.name);
  if (sendsCustomToolsAsFunctions(profile)) {
    const { custom, ...rest } = call;
    const functionFields = { name, arguments: JSON.stringify({ input: custom.input }) };
    return { ...rest, ...extra, type: "function", function: functionFields };
  }
  if (name === call.custom.name && signature === undefined) return call;
  return { ...call, ...extra, custom: { ...call.custom, name } };
}

/** Looks up the thought signature of a call, because clients drop it and Gemini rejects calls in the history without it. */
function findSignature(
  callId: string,
  lookupReasoning: LookupReasoning | undefined,
): JsonObject | undefined {
  const calls = lookupReasoning?.(callId)?.calls;
  return calls !== undefined && Object.hasOwn(calls, callId) ? calls[callId] : undefined;
}

function repairReasoning(
  message: ChatAssistantMessage,
  isCurrentTurn: boolean,
  { profile, lookupReasoning, repairs }: RepairMessagesOptions,
): ChatAssistantMessage {
  const callIds = getToolCalls(message).map(({ id }) => id);
  const reasoning = resolveReasoning(message, callIds, lookupReasoning);
  const targetFields = buildReasoningFields(reasoning, callIds.length > 0, isCurrentTurn, profile);
  const thinkText = formatThinkTags(reasoning, isCurrentTurn, profile);
  const currentFields = getReasoningFields(message);
  if (thinkText === "" && hasSameFields(currentFields, targetFields)) return message;
  const isDropped = thinkText === "" && Object.keys(targetFields).length === 0;
  if (profile.reasoningField === "none") repairs.add("reasoning_dropped", reasoning.text);
  else if (reasoning.text === "" && !isDropped)
    repairs.add("reasoning_dropped", `missing before ${callIds.join(", ")}`);
  else if (!isDropped)
    repairs.add("content_converted", `reasoning sent as ${profile.reasoningField}`);
  const rest: ChatAssistantMessage = { ...message };
  for (const field of Object.keys(currentFields)) delete rest[field];
  if (thinkText !== "") rest.content = prependReasoning(thinkText, message.content);
  return { ...rest, ...targetFields };
}

/** Returns the reasoning of a message from any of its fields; missing parts come from the cache. */
function resolveReasoning(
  message: ChatAssistantMessage,
  callIds: readonly string[],
  lookupReasoning: LookupReasoning | undefined,
): PriorReasoning {
  const { reasoning_details: rawDetails } = message;
  const details = Array.isArray(rawDetails) ? rawDetails.filter(isObject) : [];
  const opaque = nonEmptyString(message.reasoning_opaque);
  const text = reasoningFieldNames
    .map((field) => extractReasoningText(message[field]))
    .find((plainText) => plainText !== "");
  const content = text === undefined ? [] : [{ type: "reasoning_text" as const, text }];
  const isOpaque = details.length > 0 || opaque !== undefined;
  const reasoning = resolvePriorReasoning(
    [{ type: "reasoning", content }],
    isOpaque ? [] : callIds,
    {
      lookupReasoning,
    },
  );
  return isOpaque ? { ...reasoning, details, opaque } : reasoning;
}

/** Returns the fields of a message that carry reasoning. */
function getReasoningFields(message: ChatAssistantMessage): JsonObject {
  const currentFields: JsonObject = {};
  for (const field of [...reasoningFieldNames, "reasoning_opaque"])
    if (message[field] !== undefined && message[field] !== null)
      currentFields[field] = message[field];
  return currentFields;
}

function hasSameFields(currentFields: JsonObject, targetFields: JsonObject): boolean {
  const fields = Object.keys(currentFields);
  return (
    fields.length === Object.keys(targetFields).length &&
    fields.every(
      (field) => JSON.stringify(currentFields[field]) === JSON.stringify(targetFields[field]),
    )
  );
}

function prependReasoning(thinkText: string, content: ChatContent | null | undefined): ChatContent {
  if (!content || content.length === 0) return thinkText;
  if (typeof content === "string") return `${thinkText}\n\n${content}`;
  return [{ type: "text", text: thinkText }, ...content];
}

/** Moves images and files of tool results into a user message after the results, which become strings (decision 19). */
export function moveMediaToUserMessage(
  messages: readonly ChatMessage[],
  repairs: Repairs,
): ChatMessage[] {
  const out: ChatMessage[] = [];
  const names = new Map<string, string>();
  let media: ChatContentPart[] = [];
  const flush = () => {
    if (media.length > 0) out.push({ role: "user", content: media });
    media = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") flush();
    for (const call of getToolCalls(message))
      names.set(call.id, (call.type === "custom" ? call.custom : call.function).name);
    if (message.role !== "tool" || typeof message.content === "string") {
      out.push(message);
      continue;
    }
    const { tool_call_id: id, content } = message;
    const mediaParts = getMediaParts(content);
    if (mediaParts.length > 0) {
      repairs.add("content_converted", `media in the result of ${id}`);
      media.push({ type: "text", text: `[Attached to the result of ${names.get(id) ?? id}]` });
      media.push(...mediaParts);
    }
    const plainText =
      mediaParts.length === 0 ? toChatContent(content) : toTextWithAttachmentNote(content);
    out.push({ ...message, content: plainText });
  }
  flush();
  return out;
}

function toTextWithAttachmentNote(content: readonly ChatContentPart[]): string {
  return [joinTextParts(content), "[attached below]"].filter(nonEmptyString).join("\n\n");
}
