import { chunksOfWholeReply } from "../chat-upstream/body.ts";
import { collectChat, type CollectedChat } from "../collect.ts";
import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatOutput } from "../shapes/chat-reply.ts";
import { ChatOverChat, type ChatOverChatOptions } from "./stream.ts";

/** A whole Chat reply, repaired: the fold over the stream that would have said the same. */
export function chatOfChat(
  reply: JsonObject,
  options: ChatOverChatOptions,
): CollectedChat & { repairs: Repairs } {
  const machine = new ChatOverChat(options);
  const outputs: ChatOutput[] = [];
  for (const chunk of chunksOfWholeReply(reply)) machine.push(chunk, outputs);
  machine.push("[DONE]", outputs);
  return { ...collectChat(outputs), repairs: machine.repairs };
}
