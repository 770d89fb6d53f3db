import type { ResponseEvent, ResponseObject } from "@deltawire/wire";

/**
 * Returns the faults in a sequence of Responses events. It has none if it is valid: with consecutive sequence numbers,
 * items that open and close in order, deltas that add up to the final text, and a single terminal event at the end that
 * contains the streamed output.
 */
export function findResponseSequenceFaults(events: readonly ResponseEvent[]): string[] {
  const faults: string[] = [];
  const openItems = new Map<
    string,
    { index: number; joined: string; parts: number; hasOpenPart: boolean }
  >();
  const doneItems = new Map<number, unknown>();
  let added = 0;
  let terminal: ResponseObject | undefined;

  events.forEach((event, position) => {
    const fault = (text: string): void => void faults.push(`#${position} ${event.type}: ${text}`);
    if (event.sequence_number !== position) fault(`sequence_number ${event.sequence_number}`);
    if (terminal !== undefined) fault("event after the terminal event");
    if (position === 0 && event.type !== "response.created")
      fault("the first event is not response.created");
    if (position === 1 && event.type !== "response.in_progress")
      fault("the second event is not response.in_progress");
    if ("item_id" in event) {
      const item = openItems.get(event.item_id);
      if (item === undefined) return fault(`item ${event.item_id} is not open`);
      if (item.index !== event.output_index) fault(`output_index ${event.output_index}`);
      if (
        "content_index" in event &&
        event.content_index !== item.parts - (event.type === "response.content_part.added" ? 0 : 1)
      )
        fault(`content_index ${event.content_index}`);
    }
    switch (event.type) {
      case "response.output_item.added":
        if (event.output_index !== added)
          fault(`output_index ${event.output_index}, expected ${added}`);
        if (event.item.status !== "in_progress") fault(`status ${event.item.status}`);
        added += 1;
        openItems.set(event.item.id, {
          index: event.output_index,
          joined: "",
          parts: 0,
          hasOpenPart: false,
        });
        break;
      case "response.output_item.done": {
        const item = openItems.get(event.item.id);
        if (item === undefined) return fault("the item was not open");
        if (item.hasOpenPart) fault("a part is still open");
        if (event.item.status === "in_progress") fault("the item is still in progress");
        openItems.delete(event.item.id);
        doneItems.set(event.output_index, event.item);
        break;
      }
      case "response.content_part.added":
      case "response.reasoning_summary_part.added": {
        const item = openItems.get(event.item_id);
        if (item === undefined) break;
        if (item.hasOpenPart) fault("another part is open");
        Object.assign(item, { hasOpenPart: true, parts: item.parts + 1, joined: "" });
        break;
      }
      case "response.content_part.done":
      case "response.reasoning_summary_part.done": {
        const item = openItems.get(event.item_id);
        if (item !== undefined && !item.hasOpenPart) fault("no part is open");
        if (item !== undefined) item.hasOpenPart = false;
        break;
      }
      case "response.output_text.delta":
      case "response.refusal.delta":
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const item = openItems.get(event.item_id);
        if (event.delta === "") fault("an empty delta");
        if (item !== undefined) item.joined += event.delta;
        break;
      }
      case "response.output_text.done":
      case "response.reasoning_text.done":
      case "response.reasoning_summary_text.done":
        if (openItems.get(event.item_id)?.joined !== event.text)
          fault("deltas do not add up to the text");
        break;
      case "response.refusal.done":
        if (openItems.get(event.item_id)?.joined !== event.refusal)
          fault("deltas do not add up to the refusal");
        break;
      case "response.function_call_arguments.done":
        if (openItems.get(event.item_id)?.joined !== event.arguments)
          fault("deltas do not add up to the arguments");
        break;
      case "response.custom_tool_call_input.done":
        if (openItems.get(event.item_id)?.joined !== event.input)
          fault("deltas do not add up to the input");
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        terminal = event.response;
        if (`response.${terminal.status}` !== event.type) fault(`status ${terminal.status}`);
        break;
      default:
    }
  });

  if (terminal === undefined) return [...faults, "no terminal event"];
  if (openItems.size > 0) faults.push(`items never completed: ${[...openItems.keys()].join(", ")}`);
  const streamed = [...doneItems.keys()]
    .toSorted((a, b) => a - b)
    .map((index) => doneItems.get(index));
  if (JSON.stringify(streamed) !== JSON.stringify(terminal.output))
    faults.push("the terminal output differs from the streamed items");
  const calls = terminal.output.flatMap((item) => ("call_id" in item ? [item.call_id] : []));
  if (calls.includes("") || new Set(calls).size !== calls.length)
    faults.push(`empty or repeated call ids: ${calls.join(", ")}`);
  return faults;
}
