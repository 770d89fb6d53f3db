import { asString, type JsonObject, type ResponseInputItem } from "@deltawire/wire";

/**
 * Adds the encrypted reasoning of earlier replies with calls to the history of a client that dropped it. `lookup` returns the
 * `reasoning_details` of the reply with a call. Returns the same history if nothing is added.
 */
export function restoreReasoning(
  input: readonly ResponseInputItem[],
  lookup: (callId: string) => readonly JsonObject[] | undefined,
): readonly ResponseInputItem[] {
  const restored: ResponseInputItem[] = [];
  /** Where the current reply begins in `restored`, and whether its reasoning is known. */
  let reply: { start: number; isDone: boolean } | undefined;
  for (const item of input) {
    if (!isReplyItem(item)) reply = undefined;
    else {
      reply ??= { start: restored.length, isDone: false };
      if (item.type === "reasoning") reply.isDone = true;
      const callId = reply.isDone || !("call_id" in item) ? undefined : item["call_id"];
      const items = typeof callId === "string" ? toReasoningItems(lookup(callId)) : [];
      if (items.length > 0) {
        restored.splice(reply.start, 0, ...items);
        reply.isDone = true;
      }
    }
    restored.push(item);
  }
  return restored.length === input.length ? input : restored;
}

function isReplyItem(item: ResponseInputItem): boolean {
  if (item.type === "reasoning" || item.type?.endsWith("_call") === true) return true;
  return "role" in item && item["role"] === "assistant";
}

function toReasoningItems(details: readonly JsonObject[] = []): ResponseInputItem[] {
  return details.flatMap((detail): ResponseInputItem[] => {
    const data = asString(detail["data"]);
    const id = asString(detail["id"]);
    if (data === "") return [];
    const idField = id === "" ? {} : { id };
    return [{ type: "reasoning", ...idField, summary: [], encrypted_content: data }];
  });
}
