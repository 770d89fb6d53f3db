import type { ProgressReport, StreamEvent, TaskEvent } from "./events.ts";

/** How an event changes the reported progress of calls and models. */
export type ProgressChange =
  /** Replaces the previous report with this key. */
  | { type: "report"; key: string; report: ProgressReport }
  | { type: "done"; key: string }
  /** The task has ended: all reports of its calls and its model are dropped. */
  | { type: "ended"; task_id: string };

/** Used by the process that runs a task and by clients, so that both show the same progress. */
export function toProgressChange(event: TaskEvent | StreamEvent): ProgressChange | undefined {
  switch (event.type) {
    case "task.tool_execution.progress":
      return { type: "report", key: callProgressKey(event.call_id), report: event };
    case "task.round.progress":
      return { type: "report", key: modelProgressKey(event.task_id), report: event };
    case "task.warning":
      // The model is requested again after a wait and sends nothing until then.
      if (event.retry_in_ms === undefined) return undefined;
      return { type: "report", key: modelProgressKey(event.task_id), report: event };
    case "task.tool_execution.done":
      return { type: "done", key: callProgressKey(event.call_id) };
    case "task.output_item.added":
    case "task.round.done":
      return { type: "done", key: modelProgressKey(event.task_id) };
    case "task.completed":
    case "task.failed":
    case "task.canceled":
    case "task.expired":
      return { type: "ended", task_id: event.task_id };
    default:
      return undefined;
  }
}

export function callProgressKey(callId: string): string {
  return `call ${callId}`;
}

/** Differs from the key of a call: the task of a sub-agent has the id of its call. */
export function modelProgressKey(taskId: string): string {
  return `model of ${taskId}`;
}
