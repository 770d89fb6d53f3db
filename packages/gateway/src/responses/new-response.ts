import { buildRequestEcho, type JsonObject, type ResponsesRequest } from "@deltawire/wire";
import type { ResolvedRequest } from "../history/response-history.ts";
import { newId } from "../new-id.ts";

/** Returns a response without output, with all fields of the specification. `responseId`: default a new one. */
export function buildNewResponse(
  request: ResponsesRequest,
  {
    previousResponseId,
    conversation,
  }: Pick<ResolvedRequest, "previousResponseId" | "conversation">,
  { responseId = newId("resp"), ...fields }: { responseId?: string | undefined } & JsonObject,
): JsonObject {
  return {
    ...buildRequestEcho(request),
    id: responseId,
    object: "response",
    created_at: getUnixTime(),
    completed_at: null,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    model: request.model ?? "",
    output: [],
    previous_response_id: previousResponseId ?? null,
    ...(conversation === undefined ? {} : { conversation: { id: conversation.conversationId } }),
    store: request.store !== false,
    usage: null,
    ...fields,
  };
}

/** Returns the completed form of a response. */
export function completeResponse(
  response: JsonObject,
  output: JsonObject[],
  usage: JsonObject | null,
): JsonObject {
  return { ...response, status: "completed", completed_at: getUnixTime(), output, usage };
}

/** In seconds. */
function getUnixTime(): number {
  return Math.floor(Date.now() / 1000);
}
