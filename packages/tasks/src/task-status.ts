import type { TaskStatus } from "./items.ts";

/** Whether nothing more can happen to a task. */
export function hasEnded(status: TaskStatus | undefined): boolean {
  return status !== undefined && isEnd[status];
}

const isEnd: Record<TaskStatus, boolean> = {
  created: false,
  queued: false,
  working: false,
  paused: false,
  input_required: false,
  completed: true,
  failed: true,
  canceled: true,
  expired: true,
};

export const taskStatuses = Object.keys(isEnd) as readonly TaskStatus[];

/** The status that an event of a type gives to its task; most give none. */
export function statusAfter(type: `task.${TaskStatus}`): TaskStatus;
export function statusAfter(type: string): TaskStatus | undefined;
export function statusAfter(type: string): TaskStatus | undefined {
  const name = type.slice("task.".length);
  return Object.hasOwn(isEnd, name) ? (name as TaskStatus) : undefined;
}
