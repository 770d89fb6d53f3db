import type { TaskEvent } from "../events.ts";
import type { TaskTree } from "../state.ts";
import type { UiChunk } from "./chunks.ts";
import { toUiSubtask } from "./ui-parts.ts";

/** Converts an event of a sub-agent to a data part, which replaces an earlier one with the same id, or to a transient delta. */
export function toSubtaskChunk(event: TaskEvent, getTree: () => TaskTree): UiChunk | undefined {
  const { task_id } = event;
  switch (event.type) {
    case "task.created":
    case "task.queued":
    case "task.working":
    case "task.paused":
    case "task.input_required":
    case "task.round.started":
    case "task.completed":
    case "task.failed":
    case "task.canceled":
    case "task.expired": {
      const state = getTree().tasks[task_id];
      return state && { type: "data-subtask", id: task_id, data: toUiSubtask(state) };
    }
    case "task.output_item.done":
    case "task.output_item.updated":
    case "task.output_item.retracted": {
      const { output_index } = event;
      const item = getTree().tasks[task_id]?.output[output_index];
      const id = `${task_id}:${output_index}`;
      return item && { type: "data-subtask-item", id, data: { task_id, output_index, item } };
    }
    case "task.text.delta":
    case "task.reasoning_summary_text.delta":
    case "task.reasoning_text.delta": {
      const { item_id, delta } = event;
      const kind = event.type === "task.text.delta" ? "text" : "reasoning";
      return {
        type: "data-subtask-delta",
        transient: true,
        data: { task_id, item_id, kind, delta },
      };
    }
    default:
      return undefined;
  }
}
