import type { JsonObject, JsonValue, UpstreamResponseEvent } from "@deltawire/wire";

/**
 * Returns the faults in the forwarded events of a Responses upstream. They have none if a client can read them. This is
 * less strict than `findResponseSequenceFaults`: providers may omit events and choose item indexes. But the first event must be
 * `response.created`, sequence numbers must be consecutive, deltas must add up to the final text, each item must be
 * completed once, and the single terminal event must be last and contain the streamed output.
 */
export function findPassthroughSequenceFaults(events: readonly UpstreamResponseEvent[]): string[] {
  const faults: string[] = [];
  const openItems = new Map<number, { joined: string }>();
  const doneItems = new Map<number, JsonObject>();
  let terminal: JsonObject | undefined;
  events.forEach((event, position) => {
    const fault = (text: string): void => void faults.push(`#${position} ${event.type}: ${text}`);
    const index = event["output_index"] as number;
    if (event["sequence_number"] !== position) fault(`sequence_number is not ${position}`);
    if (terminal !== undefined) fault("event after the terminal event");
    if (position === 0 && event.type !== "response.created")
      fault("the first event is not response.created");
    switch (event.type) {
      case "response.output_item.added":
        if (openItems.has(index) || doneItems.has(index)) fault(`item ${index} added twice`);
        openItems.set(index, { joined: "" });
        break;
      case "response.output_item.done": {
        const item = event["item"] as JsonObject;
        const joined = openItems.get(index)?.joined;
        if (joined === undefined) fault(`item ${index} was not open`);
        if (joined && joined !== withoutIds(item)) fault("deltas do not add up to the item");
        openItems.delete(index);
        doneItems.set(index, item);
        break;
      }
      case "response.output_text.delta":
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const item = openItems.get(index);
        if (item === undefined) fault(`item ${index} is not open`);
        else item.joined += event["delta"] as string;
        break;
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        terminal = event["response"] as JsonObject;
        if (terminal["status"] !== event.type.slice("response.".length))
          fault("status does not match the event");
        break;
      default:
    }
  });
  if (terminal === undefined) return [...faults, "no terminal event"];
  if (openItems.size > 0) faults.push(`never completed: ${[...openItems.keys()].join(", ")}`);
  const streamed = [...doneItems].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  if (formatItemContents(streamed) !== formatItemContents(terminal["output"] as JsonObject[]))
    faults.push("the terminal output differs from the streamed items");
  return faults;
}

/** Ignores ids, because some servers change the id of an item between events. */
function formatItemContents(items: readonly JsonObject[]): string {
  return JSON.stringify(items.map((item) => [item["type"], item["call_id"], withoutIds(item)]));
}

function withoutIds(item: JsonObject): JsonValue {
  const parts = Array.isArray(item["content"]) ? (item["content"] as { text?: string }[]) : [];
  return item["arguments"] ?? item["input"] ?? parts.map(({ text }) => text ?? "").join("");
}
