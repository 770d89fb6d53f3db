import { ChatOverChat, type ChatOverChatOptions } from "./chat-over-chat/stream.ts";
import { ChatOverResponses, type ChatOverResponsesOptions } from "./chat-over-responses/stream.ts";
import { chunksOfWholeReply } from "./chat-upstream/body.ts";
import type { ChatInput } from "./chat-upstream/chunk-reader.ts";
import { collectChat, collectResponse, type CollectedChat } from "./collect.ts";
import type { JsonObject } from "./json.ts";
import type { ClientTranslator } from "./machine.ts";
import type { Repairs } from "./repairs.ts";
import { ResponsesOverChat, type ResponsesOverChatOptions } from "./responses-over-chat/stream.ts";
import {
  ResponsesOverResponses,
  type ResponsesOverResponsesOptions,
} from "./responses-over-responses/stream.ts";
import { eventOfWholeReply } from "./responses-upstream/body.ts";
import type { ResponseObject } from "./shapes/responses-reply.ts";

/* Complete replies, translated by the same machines as streams. */

/** A complete Chat reply as a complete response. */
export function responseOfChat(
  reply: JsonObject,
  options: ResponsesOverChatOptions,
): { response: ResponseObject; repairs: Repairs } {
  const machine = new ResponsesOverChat(options);
  const events = translated(machine, chatInputs(reply));
  return { response: collectResponse(events) as ResponseObject, repairs: machine.repairs };
}

/** A complete Chat reply, repaired. */
export function chatOfChat(
  reply: JsonObject,
  options: ChatOverChatOptions,
): CollectedChat & { repairs: Repairs } {
  const machine = new ChatOverChat(options);
  return { ...collectChat(translated(machine, chatInputs(reply))), repairs: machine.repairs };
}

/** A complete response as a complete Chat reply. */
export function chatOfResponse(
  reply: JsonObject,
  options: ChatOverResponsesOptions,
): CollectedChat & { repairs: Repairs } {
  const machine = new ChatOverResponses(options);
  const outputs = translated(machine, [eventOfWholeReply(reply)]);
  return { ...collectChat(outputs), repairs: machine.repairs };
}

/** A complete response, repaired, as the terminal event of a stream would carry it. */
export function responseOfResponse(
  reply: JsonObject,
  options: ResponsesOverResponsesOptions,
): { response: JsonObject; repairs: Repairs } {
  const machine = new ResponsesOverResponses(options);
  const events = translated(machine, [eventOfWholeReply(reply)]);
  return { response: events.at(-1)?.["response"] as JsonObject, repairs: machine.repairs };
}

function chatInputs(reply: JsonObject): ChatInput[] {
  return [...chunksOfWholeReply(reply), "[DONE]"];
}

function translated<In, Out>(machine: ClientTranslator<In, Out>, inputs: readonly In[]): Out[] {
  const out: Out[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end("eof", out);
  return out;
}
