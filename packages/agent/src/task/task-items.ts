import type { OutputItem, RetractedItem, TaskState, ToolCallItem } from "@deltawire/tasks";

/** Returns the calls without a finished result, in the order in which the model made them. */
export function findOpenCalls(state: TaskState): ToolCallItem[] {
  const answeredIds = new Set<string>();
  const calls: ToolCallItem[] = [];
  for (const item of state.output) {
    if (item.type === "tool_call") calls.push(item);
    if (item.type === "tool_result" && item.status !== "in_progress") answeredIds.add(item.call_id);
  }
  return calls.filter(({ call_id }) => !answeredIds.has(call_id));
}

/** Returns the items from `startIndex` on that were not retracted. */
export function getUnretractedItems(state: TaskState, startIndex: number): OutputItem[] {
  return state.output.slice(startIndex).filter(isUnretracted);
}

function isUnretracted(item: OutputItem | RetractedItem): item is OutputItem {
  return item.type !== "retracted";
}
