import { chunksOfWholeReply } from "../chat-upstream/body.ts";
import { collectResponse } from "../collect.ts";
import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ResponseEvent, ResponseObject } from "../shapes/responses-reply.ts";
import { ResponsesOverChat, type ResponsesOverChatOptions } from "./stream.ts";

/** A whole Chat reply as a whole response: the fold over the stream that would have said the same. */
export function responseOfChat(
  reply: JsonObject,
  options: ResponsesOverChatOptions,
): { response: ResponseObject; repairs: Repairs } {
  const machine = new ResponsesOverChat(options);
  const events: ResponseEvent[] = [];
  for (const chunk of chunksOfWholeReply(reply)) machine.push(chunk, events);
  machine.push("[DONE]", events);
  return { response: collectResponse(events) as ResponseObject, repairs: machine.repairs };
}
