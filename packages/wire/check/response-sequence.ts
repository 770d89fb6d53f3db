import type { ResponseEvent, ResponseObject } from "@deltawire/wire";

/**
 * What is wrong with a sequence of Responses events, in words; empty if it is legal: numbered densely, opened and
 * closed in order, deltas that join to what is done, one terminal event, the last, whose output is what was streamed.
 */
export function responseSequenceFaults(events: readonly ResponseEvent[]): string[] {
  const faults: string[] = [];
  const open = new Map<
    string,
    { index: number; joined: string; parts: number; openPart: boolean }
  >();
  const done = new Map<number, unknown>();
  let added = 0;
  let terminal: ResponseObject | undefined;

  events.forEach((event, nth) => {
    const fault = (text: string): void => void faults.push(`#${nth} ${event.type}: ${text}`);
    if (event.sequence_number !== nth) fault(`sequence_number ${event.sequence_number}`);
    if (terminal !== undefined) fault("after the terminal event");
    if (nth === 0 && event.type !== "response.created") fault("first event");
    if (nth === 1 && event.type !== "response.in_progress") fault("second event");
    if ("item_id" in event) {
      const item = open.get(event.item_id);
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
        open.set(event.item.id, {
          index: event.output_index,
          joined: "",
          parts: 0,
          openPart: false,
        });
        break;
      case "response.output_item.done": {
        const item = open.get(event.item.id);
        if (item === undefined) return fault("was not open");
        if (item.openPart) fault("a part is still open");
        if (event.item.status === "in_progress") fault("still in progress");
        open.delete(event.item.id);
        done.set(event.output_index, event.item);
        break;
      }
      case "response.content_part.added":
      case "response.reasoning_summary_part.added": {
        const item = open.get(event.item_id);
        if (item === undefined) break;
        if (item.openPart) fault("another part is open");
        Object.assign(item, { openPart: true, parts: item.parts + 1, joined: "" });
        break;
      }
      case "response.content_part.done":
      case "response.reasoning_summary_part.done": {
        const item = open.get(event.item_id);
        if (item !== undefined && !item.openPart) fault("no part is open");
        if (item !== undefined) item.openPart = false;
        break;
      }
      case "response.output_text.delta":
      case "response.refusal.delta":
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const item = open.get(event.item_id);
        if (event.delta === "") fault("an empty delta");
        if (item !== undefined) item.joined += event.delta;
        break;
      }
      case "response.output_text.done":
      case "response.reasoning_text.done":
      case "response.reasoning_summary_text.done":
        if (open.get(event.item_id)?.joined !== event.text) fault("deltas do not join to the text");
        break;
      case "response.refusal.done":
        if (open.get(event.item_id)?.joined !== event.refusal) fault("deltas do not join");
        break;
      case "response.function_call_arguments.done":
        if (open.get(event.item_id)?.joined !== event.arguments)
          fault("deltas do not join to the arguments");
        break;
      case "response.custom_tool_call_input.done":
        if (open.get(event.item_id)?.joined !== event.input)
          fault("deltas do not join to the input");
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
  if (open.size > 0) faults.push(`never done: ${[...open.keys()].join(", ")}`);
  const streamed = [...done.keys()].toSorted((a, b) => a - b).map((index) => done.get(index));
  if (JSON.stringify(streamed) !== JSON.stringify(terminal.output))
    faults.push("the terminal output is not what was streamed");
  const calls = terminal.output.flatMap((item) => ("call_id" in item ? [item.call_id] : []));
  if (calls.includes("") || new Set(calls).size !== calls.length)
    faults.push(`call ids: ${calls.join(", ")}`);
  return faults;
}
