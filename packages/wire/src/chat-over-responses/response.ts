import { collectChat, type CollectedChat } from "../collect.ts";
import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import { eventOfWholeReply } from "../responses-upstream/body.ts";
import type { ChatOutput } from "../shapes/chat-reply.ts";
import { ChatOverResponses, type ChatOverResponsesOptions } from "./stream.ts";

/** A whole response as a whole Chat reply: the fold over the stream that would have said the same. */
export function chatOfResponse(
  reply: JsonObject,
  options: ChatOverResponsesOptions,
): CollectedChat & { repairs: Repairs } {
  const machine = new ChatOverResponses(options);
  const outputs: ChatOutput[] = [];
  machine.push(eventOfWholeReply(reply), outputs);
  machine.end("eof", outputs);
  return { ...collectChat(outputs), repairs: machine.repairs };
}
