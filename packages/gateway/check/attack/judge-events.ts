import type { JsonObject } from "@deltawire/wire";

/*
 * What any client needs of the events of a stream, judged in one pass: floods have hundreds of thousands. The rules that
 * translations obey beyond that are checked in packages/wire.
 */

/** What is wrong with the chunks of a Chat stream; empty if a client can read them. */
export function chatFaults(events: readonly ("[DONE]" | JsonObject)[]): string[] {
  const faults = new Set<string>();
  const open = new Set<unknown>();
  const finished = new Set<unknown>();
  const calls = new Set<string>();
  let isEnded = false;
  for (const event of events) {
    if (isEnded) faults.add("events after the end");
    if (event === "[DONE]" || event["error"] !== undefined) {
      isEnded = true;
      if (event === "[DONE]" && open.size > 0) faults.add("a choice is never finished");
      continue;
    }
    if (typeof event["id"] !== "string" || event["id"] === "") faults.add("a chunk without an id");
    if (!Array.isArray(event["choices"])) {
      faults.add("a chunk without choices");
      continue;
    }
    for (const choice of event["choices"] as JsonObject[]) {
      const index = choice["index"];
      if (finished.has(index)) faults.add("a choice goes on after its finish");
      open.add(index);
      for (const call of callsIn(choice)) {
        const place = `${index as number}/${call["index"] as number}`;
        const isNew = !calls.has(place);
        calls.add(place);
        const described = (call["function"] ?? call["custom"]) as JsonObject | undefined;
        if (isNew && (!call["id"] || !described?.["name"])) faults.add("a call without id or name");
      }
      if (choice["finish_reason"]) {
        open.delete(index);
        finished.add(index);
      }
    }
  }
  if (!isEnded) faults.add("no end");
  return [...faults];
}

function callsIn({ delta }: JsonObject): JsonObject[] {
  const calls = (delta as JsonObject | null | undefined)?.["tool_calls"];
  return Array.isArray(calls) ? (calls as JsonObject[]) : [];
}

const ends = ["response.completed", "response.incomplete", "response.failed"];

/** What is wrong with the events of a Responses stream; empty if a client can read them. */
export function responsesFaults(events: readonly JsonObject[]): string[] {
  const faults = new Set<string>();
  const open = new Set<unknown>();
  let end: JsonObject | undefined;
  for (const [at, event] of events.entries()) {
    if (end !== undefined) faults.add("events after the end");
    if (event["sequence_number"] !== at) faults.add("numbers that are not dense");
    if (at === 0 && event["type"] !== "response.created") faults.add("no beginning");
    if (event["type"] === "response.output_item.added") open.add(event["output_index"]);
    if (event["type"] === "response.output_item.done") open.delete(event["output_index"]);
    if (ends.includes(event["type"] as string)) end = event;
  }
  if (end === undefined) return [...faults, "no end"];
  const { status } = end["response"] as JsonObject;
  if (end["type"] !== `response.${status as string}`) faults.add("an end of another status");
  if (open.size > 0) faults.add("an item is never done");
  return [...faults];
}
