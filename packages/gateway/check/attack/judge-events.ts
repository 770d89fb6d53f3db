import type { JsonObject } from "@deltawire/wire";

/*
 * Checks what every client requires of the events of a stream, in one pass, because there may be hundreds of thousands of them.
 * Other rules of translations are checked in packages/wire.
 */

/** Returns what is wrong with the chunks of a Chat stream; empty if a client can read them. */
export function findChatStreamFaults(events: readonly ("[DONE]" | JsonObject)[]): string[] {
  const faults = new Set<string>();
  const openChoices = new Set<unknown>();
  const finishedChoices = new Set<unknown>();
  const calls = new Set<string>();
  let isEnded = false;
  for (const event of events) {
    if (isEnded) faults.add("events after the end");
    if (event === "[DONE]" || event["error"] !== undefined) {
      isEnded = true;
      if (event === "[DONE]" && openChoices.size > 0) faults.add("a choice is never finished");
      continue;
    }
    if (typeof event["id"] !== "string" || event["id"] === "") faults.add("a chunk without an id");
    if (!Array.isArray(event["choices"])) {
      faults.add("a chunk without choices");
      continue;
    }
    for (const choice of event["choices"] as JsonObject[]) {
      const index = choice["index"];
      if (finishedChoices.has(index)) faults.add("a choice continues after its finish_reason");
      openChoices.add(index);
      for (const call of collectCalls(choice)) {
        const callKey = `${index as number}/${call["index"] as number}`;
        const isNew = !calls.has(callKey);
        calls.add(callKey);
        const definition = (call["function"] ?? call["custom"]) as JsonObject | undefined;
        if (isNew && (!call["id"] || !definition?.["name"]))
          faults.add("a call without id or name");
      }
      if (choice["finish_reason"]) {
        openChoices.delete(index);
        finishedChoices.add(index);
      }
    }
  }
  if (!isEnded) faults.add("no end");
  return [...faults];
}

function collectCalls({ delta }: JsonObject): JsonObject[] {
  const calls = (delta as JsonObject | null | undefined)?.["tool_calls"];
  return Array.isArray(calls) ? (calls as JsonObject[]) : [];
}

const terminalTypes = ["response.completed", "response.incomplete", "response.failed"];

/** Returns what is wrong with the events of a Responses stream; empty if a client can read them. */
export function findResponsesStreamFaults(events: readonly JsonObject[]): string[] {
  const faults = new Set<string>();
  const openItems = new Set<unknown>();
  let terminalEvent: JsonObject | undefined;
  for (const [index, event] of events.entries()) {
    if (terminalEvent !== undefined) faults.add("events after the end");
    if (event["sequence_number"] !== index) faults.add("sequence numbers with gaps");
    if (index === 0 && event["type"] !== "response.created")
      faults.add("the first event is not response.created");
    if (event["type"] === "response.output_item.added") openItems.add(event["output_index"]);
    if (event["type"] === "response.output_item.done") openItems.delete(event["output_index"]);
    if (terminalTypes.includes(event["type"] as string)) terminalEvent = event;
  }
  if (terminalEvent === undefined) return [...faults, "no end"];
  const { status } = terminalEvent["response"] as JsonObject;
  if (terminalEvent["type"] !== `response.${status as string}`)
    faults.add("the last event does not match the status of the response");
  if (openItems.size > 0) faults.add("an item is never done");
  return [...faults];
}
