import type { JsonObject, JsonValue, ResponsesInput } from "@deltawire/wire";

/**
 * What is wrong with a Responses upstream's events as they were passed on, in words; empty if a client can read them.
 * Less than `responseSequenceFaults` asks of events that we make: a provider may leave events out and count its items as
 * it likes. But the first is `response.created`, numbers are dense, deltas join to what is done, what was opened is done
 * once, and there is one terminal event, the last, whose output says what was streamed.
 */
export function passedSequenceFaults(events: readonly ResponsesInput[]): string[] {
  const faults: string[] = [];
  const open = new Map<number, { joined: string }>();
  const done = new Map<number, JsonObject>();
  let terminal: JsonObject | undefined;
  events.forEach((event, nth) => {
    const fault = (text: string): void => void faults.push(`#${nth} ${event.type}: ${text}`);
    const index = event["output_index"] as number;
    if (event["sequence_number"] !== nth) fault(`sequence_number is not ${nth}`);
    if (terminal !== undefined) fault("after the terminal event");
    if (nth === 0 && event.type !== "response.created") fault("first event");
    switch (event.type) {
      case "response.output_item.added":
        if (open.has(index) || done.has(index)) fault(`item ${index} again`);
        open.set(index, { joined: "" });
        break;
      case "response.output_item.done": {
        const item = event["item"] as JsonObject;
        const joined = open.get(index)?.joined;
        if (joined === undefined) fault(`item ${index} was not open`);
        if (joined && joined !== wordsOf(item)) fault("deltas do not join to what is done");
        open.delete(index);
        done.set(index, item);
        break;
      }
      case "response.output_text.delta":
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const passing = open.get(index);
        if (passing === undefined) fault(`item ${index} is not open`);
        else passing.joined += event["delta"] as string;
        break;
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        terminal = event["response"] as JsonObject;
        if (terminal["status"] !== event.type.slice("response.".length)) fault("another status");
        break;
      default:
    }
  });
  if (terminal === undefined) return [...faults, "no terminal event"];
  if (open.size > 0) faults.push(`never done: ${[...open.keys()].join(", ")}`);
  const streamed = [...done].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  if (contentOf(streamed) !== contentOf(terminal["output"] as JsonObject[]))
    faults.push("the terminal output is not what was streamed");
  return faults;
}

/** What items say, whatever ids they say it under: some servers change an item's between events. */
function contentOf(items: readonly JsonObject[]): string {
  return JSON.stringify(items.map((item) => [item["type"], item["call_id"], wordsOf(item)]));
}

function wordsOf(item: JsonObject): JsonValue {
  const parts = Array.isArray(item["content"]) ? (item["content"] as { text?: string }[]) : [];
  return item["arguments"] ?? item["input"] ?? parts.map(({ text }) => text ?? "").join("");
}
