import { callsOf } from "../chat-upstream/ordered-messages.ts";
import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import { chatContent, mediaOf, textOf } from "../mapping/content.ts";
import { reasoningFields as fieldsOfReasoning, reasoningText } from "../mapping/reasoning.ts";
import { isAsSent, type Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import {
  earlierReasoning,
  reasoningFields,
  thinkTagged,
  type EarlierReasoning,
  type Recall,
} from "../responses-over-chat/reasoning-replay.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatToolCall,
} from "../shapes/chat-request.ts";
import { shortName } from "../tools/names.ts";
import { offersCustomAsFunction } from "./offered-tools.ts";

export interface HistoryOptions {
  profile: Profile;
  recall: Recall | undefined;
  repairs: Repairs;
}

/** What assistants said and called, as the upstream wants it back. A message with nothing to mend is the same object. */
export function mendedAssistants(
  messages: readonly ChatMessage[],
  options: HistoryOptions,
): ChatMessage[] {
  const turnStart = messages.findLastIndex(({ role }) => role === "user");
  return messages.map((message, at) => {
    if (message.role === "tool") return withShortName(message);
    if (message.role !== "assistant") return message;
    const called = withCalls(message, options);
    return isAsSent(options.profile, "reasoningField")
      ? called
      : withReasoning(called, at > turnStart, options);
  });
}

/** Some clients repeat the tool's name in its result. */
function withShortName<Message extends ChatMessage>(message: Message): Message {
  const own = nonEmptyString(message["name"]);
  return own === undefined || shortName(own) === own
    ? message
    : { ...message, name: shortName(own) };
}

function withCalls(message: ChatAssistantMessage, options: HistoryOptions): ChatAssistantMessage {
  const calls = callsOf(message);
  const tool_calls = calls.map((call) => mendedCall(call, options));
  return tool_calls.every((call, at) => call === calls[at]) ? message : { ...message, tool_calls };
}

function mendedCall(call: ChatToolCall, { profile, recall }: HistoryOptions): ChatToolCall {
  const signature = call.extra_content === undefined ? signatureOf(call.id, recall) : undefined;
  const extra = signature === undefined ? {} : { extra_content: signature };
  if (call.type !== "custom") {
    const name = shortName(call.function.name);
    if (name === call.function.name && signature === undefined) return call;
    return { ...call, ...extra, function: { ...call.function, name } };
  }
  const name = shortName(call.custom.name);
  if (offersCustomAsFunction(profile)) {
    const { custom, ...rest } = call;
    const bridged = { name, arguments: JSON.stringify({ input: custom.input }) };
    return { ...rest, ...extra, type: "function", function: bridged };
  }
  if (name === call.custom.name && signature === undefined) return call;
  return { ...call, ...extra, custom: { ...call.custom, name } };
}

/** Gemini refuses a call that comes back without its thought signature, and clients drop what they do not know. */
function signatureOf(callId: string, recall: Recall | undefined): JsonObject | undefined {
  const calls = recall?.(callId)?.calls;
  return calls !== undefined && Object.hasOwn(calls, callId) ? calls[callId] : undefined;
}

function withReasoning(
  message: ChatAssistantMessage,
  inTurn: boolean,
  { profile, recall, repairs }: HistoryOptions,
): ChatAssistantMessage {
  const callIds = callsOf(message).map(({ id }) => id);
  const found = reasoningOf(message, callIds, recall);
  const wanted = reasoningFields(found, callIds.length > 0, inTurn, profile);
  const thought = thinkTagged(found, inTurn, profile);
  const present = given(message);
  if (thought === "" && saysTheSame(present, wanted)) return message;
  const dropped = thought === "" && Object.keys(wanted).length === 0;
  if (profile.reasoningField === "none") repairs.add("reasoning_dropped", found.text);
  else if (found.text === "" && !dropped)
    repairs.add("reasoning_dropped", `lost before ${callIds.join(", ")}`);
  else if (!dropped) repairs.add("content_converted", `reasoning as ${profile.reasoningField}`);
  const rest: ChatAssistantMessage = { ...message };
  for (const field of Object.keys(present)) delete rest[field];
  if (thought !== "") rest.content = inFront(thought, message.content);
  return { ...rest, ...wanted };
}

/** What a message says of its reasoning, under whichever names; the rest comes from memory. */
function reasoningOf(
  message: ChatAssistantMessage,
  callIds: readonly string[],
  recall: Recall | undefined,
): EarlierReasoning {
  const { reasoning_details: listed } = message;
  const details = Array.isArray(listed) ? listed.filter(isObject) : [];
  const opaque = nonEmptyString(message.reasoning_opaque);
  const text = fieldsOfReasoning
    .map((field) => reasoningText(message[field]))
    .find((words) => words !== "");
  const content = text === undefined ? [] : [{ type: "reasoning_text" as const, text }];
  const isWhole = details.length > 0 || opaque !== undefined;
  const found = earlierReasoning([{ type: "reasoning", content }], isWhole ? [] : callIds, {
    recall,
  });
  return isWhole ? { ...found, details, opaque } : found;
}

/** The fields in which a message carries reasoning. */
function given(message: ChatAssistantMessage): JsonObject {
  const present: JsonObject = {};
  for (const field of [...fieldsOfReasoning, "reasoning_opaque"])
    if (message[field] !== undefined && message[field] !== null) present[field] = message[field];
  return present;
}

function saysTheSame(present: JsonObject, wanted: JsonObject): boolean {
  const fields = Object.keys(present);
  return (
    fields.length === Object.keys(wanted).length &&
    fields.every((field) => JSON.stringify(present[field]) === JSON.stringify(wanted[field]))
  );
}

function inFront(thought: string, content: ChatContent | null | undefined): ChatContent {
  if (!content || content.length === 0) return thought;
  if (typeof content === "string") return `${thought}\n\n${content}`;
  return [{ type: "text", text: thought }, ...content];
}

/** Pictures and files of results in one user message behind all of them; a result is then one string (decision 19). */
export function withMediaApart(messages: readonly ChatMessage[], repairs: Repairs): ChatMessage[] {
  const out: ChatMessage[] = [];
  const names = new Map<string, string>();
  let media: ChatContentPart[] = [];
  const flush = () => {
    if (media.length > 0) out.push({ role: "user", content: media });
    media = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") flush();
    for (const call of callsOf(message))
      names.set(call.id, (call.type === "custom" ? call.custom : call.function).name);
    if (message.role !== "tool" || typeof message.content === "string") {
      out.push(message);
      continue;
    }
    const { tool_call_id: id, content } = message;
    const attached = mediaOf(content);
    if (attached.length > 0) {
      repairs.add("content_converted", `media in the result of ${id}`);
      media.push({ type: "text", text: `[Attached to the result of ${names.get(id) ?? id}]` });
      media.push(...attached);
    }
    const words = attached.length === 0 ? chatContent(content) : attachedBelow(content);
    out.push({ ...message, content: words });
  }
  flush();
  return out;
}

function attachedBelow(content: readonly ChatContentPart[]): string {
  return [textOf(content), "[attached below]"].filter(nonEmptyString).join("\n\n");
}
