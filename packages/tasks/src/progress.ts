import type { ProgressReport, StreamEvent, TaskEvent } from "./events.ts";

/** What an event makes of what is known of how far calls and models are. */
export type ProgressChange =
  /** In place of what was told under this key before. */
  | { is: "report"; key: string; report: ProgressReport }
  | { is: "done"; key: string }
  /** The task has ended: nothing that its calls or its model told is left, whether they were done or not. */
  | { is: "ended"; task_id: string };

/** For the process that runs a task and for whoever shows it, so that both know the same. */
export function progressChange(event: TaskEvent | StreamEvent): ProgressChange | undefined {
  switch (event.type) {
    case "task.tool_execution.progress":
      return { is: "report", key: callProgressKey(event.call_id), report: event };
    case "task.round.progress":
      return { is: "report", key: modelProgressKey(event.task_id), report: event };
    case "task.warning":
      // The model is asked again after a while, and until then nothing else is heard of it.
      if (event.retry_in_ms === undefined) return undefined;
      return { is: "report", key: modelProgressKey(event.task_id), report: event };
    case "task.tool_execution.done":
      return { is: "done", key: callProgressKey(event.call_id) };
    case "task.output_item.added":
    case "task.round.done":
      return { is: "done", key: modelProgressKey(event.task_id) };
    case "task.completed":
    case "task.failed":
    case "task.canceled":
    case "task.expired":
      return { is: "ended", task_id: event.task_id };
    default:
      return undefined;
  }
}

export function callProgressKey(callId: string): string {
  return `call ${callId}`;
}

/** Not the key of a call: the task of a sub-agent has the id of its call. */
export function modelProgressKey(taskId: string): string {
  return `model of ${taskId}`;
}
