import type { OutputItem, RetractedItem, TaskState, ToolCallItem } from "@deltawire/tasks";

/** Calls whose result has not been closed, in the order in which the model made them. */
export function openCalls(state: TaskState): ToolCallItem[] {
  const answered = new Set<string>();
  const calls: ToolCallItem[] = [];
  for (const item of state.output) {
    if (item.type === "tool_call") calls.push(item);
    if (item.type === "tool_result" && item.status !== "in_progress") answered.add(item.call_id);
  }
  return calls.filter(({ call_id }) => !answered.has(call_id));
}

/** The items from an index on that have not been retracted. */
export function unretractedItems(state: TaskState, from: number): OutputItem[] {
  return state.output.slice(from).filter(isUnretracted);
}

function isUnretracted(item: OutputItem | RetractedItem): item is OutputItem {
  return item.type !== "retracted";
}
