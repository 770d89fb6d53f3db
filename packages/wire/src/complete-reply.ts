import { ChatOverChat, type ChatOverChatOptions } from "./chat-over-chat/stream.ts";
import { completionToChunks } from "./chat-upstream/body.ts";
import type { UpstreamChatEvent } from "./chat-upstream/chunk-reader.ts";
import { collectChat, collectResponse, type CollectChatResult } from "./collect.ts";
import type { JsonObject } from "./json.ts";
import { collectMessage, type CollectMessageResult } from "./messages-client/collect-message.ts";
import { messageToEvents } from "./messages-upstream/body.ts";
import type { ClientTranslator } from "./stream-machine.ts";
import type { Repairs } from "./repairs.ts";
import {
  ChatOverMessages,
  ChatOverResponses,
  MessagesOverChat,
  MessagesOverResponses,
  ResponsesOverChat,
  ResponsesOverMessages,
  type ChatOverMessagesOptions,
  type MessagesOverChatOptions,
  type MessagesOverResponsesOptions,
  type ResponsesOverMessagesOptions,
  type ChatOverResponsesOptions,
  type ResponsesOverChatOptions,
} from "./translators.ts";
import {
  ResponsesOverResponses,
  type ResponsesOverResponsesOptions,
} from "./responses-over-responses/stream.ts";
import { toTerminalEvent } from "./responses-upstream/body.ts";
import type { ResponseObject } from "./shapes/responses-reply.ts";

/* Translates and repairs complete (not streamed) replies, with the same translators as streams. */

/** Translates a complete Chat reply into a complete response. */
export function translateChatReply(
  reply: JsonObject,
  options: ResponsesOverChatOptions,
): { response: ResponseObject; repairs: Repairs } {
  const machine = new ResponsesOverChat(options);
  const events = translateAll(machine, toUpstreamChatEvents(reply));
  return { response: collectResponse(events) as ResponseObject, repairs: machine.repairs };
}

/** Repairs a complete Chat reply. */
export function repairChatReply(
  reply: JsonObject,
  options: ChatOverChatOptions,
): CollectChatResult & { repairs: Repairs } {
  const machine = new ChatOverChat(options);
  return {
    ...collectChat(translateAll(machine, toUpstreamChatEvents(reply))),
    repairs: machine.repairs,
  };
}

/** Translates a complete response into a complete Chat reply. */
export function translateResponsesReply(
  reply: JsonObject,
  options: ChatOverResponsesOptions,
): CollectChatResult & { repairs: Repairs } {
  const machine = new ChatOverResponses(options);
  const outputs = translateAll(machine, [toTerminalEvent(reply)]);
  return { ...collectChat(outputs), repairs: machine.repairs };
}

/** Repairs a complete response: returns what the terminal event of a stream would contain. */
export function repairResponsesReply(
  reply: JsonObject,
  options: ResponsesOverResponsesOptions,
): { response: JsonObject; repairs: Repairs } {
  const machine = new ResponsesOverResponses(options);
  const events = translateAll(machine, [toTerminalEvent(reply)]);
  return { response: events.at(-1)?.["response"] as JsonObject, repairs: machine.repairs };
}

/** Translates a complete Messages reply into a complete response. */
export function translateMessage(
  reply: JsonObject,
  options: ResponsesOverMessagesOptions,
): { response: ResponseObject; repairs: Repairs } {
  const machine = new ResponsesOverMessages(options);
  const events = translateAll(machine, messageToEvents(reply));
  return { response: collectResponse(events) as ResponseObject, repairs: machine.repairs };
}

/** Translates a complete Messages reply into a complete Chat reply. */
export function translateMessageToChat(
  reply: JsonObject,
  options: ChatOverMessagesOptions,
): CollectChatResult & { repairs: Repairs } {
  const machine = new ChatOverMessages(options);
  const outputs = translateAll(machine, messageToEvents(reply));
  return { ...collectChat(outputs), repairs: machine.repairs };
}

/** Translates a complete Chat reply into a complete message. */
export function translateChatReplyToMessage(
  reply: JsonObject,
  options: MessagesOverChatOptions,
): CollectMessageResult & { repairs: Repairs } {
  const machine = new MessagesOverChat(options);
  const events = translateAll(machine, toUpstreamChatEvents(reply));
  return { ...(collectMessage(events) as CollectMessageResult), repairs: machine.repairs };
}

/** Translates a complete response into a complete message. */
export function translateResponsesReplyToMessage(
  reply: JsonObject,
  options: MessagesOverResponsesOptions,
): CollectMessageResult & { repairs: Repairs } {
  const machine = new MessagesOverResponses(options);
  const events = translateAll(machine, [toTerminalEvent(reply)]);
  return { ...(collectMessage(events) as CollectMessageResult), repairs: machine.repairs };
}

function toUpstreamChatEvents(reply: JsonObject): UpstreamChatEvent[] {
  return [...completionToChunks(reply), "[DONE]"];
}

function translateAll<In, Out>(machine: ClientTranslator<In, Out>, inputs: readonly In[]): Out[] {
  const out: Out[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end("eof", out);
  return out;
}
