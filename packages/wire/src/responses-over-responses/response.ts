import type { JsonObject } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import { eventOfWholeReply, type ResponsesInput } from "../responses-upstream/body.ts";
import { ResponsesOverResponses, type ResponsesOverResponsesOptions } from "./stream.ts";

/** A whole response, repaired: what the terminal event of its stream would have carried. */
export function responseOfResponse(
  reply: JsonObject,
  options: ResponsesOverResponsesOptions,
): { response: JsonObject; repairs: Repairs } {
  const machine = new ResponsesOverResponses(options);
  const events: ResponsesInput[] = [];
  machine.push(eventOfWholeReply(reply), events);
  machine.end("eof", events);
  return { response: events.at(-1)?.["response"] as JsonObject, repairs: machine.repairs };
}
