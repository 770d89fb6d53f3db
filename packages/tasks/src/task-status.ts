import type { TaskStatus } from "./items.ts";

/** True if the status is final. */
export function hasEnded(status: TaskStatus | undefined): boolean {
  return status !== undefined && isTerminal[status];
}

const isTerminal: Record<TaskStatus, boolean> = {
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

export const taskStatuses = Object.keys(isTerminal) as readonly TaskStatus[];

/** Returns the status that an event sets. Undefined for most types. */
export function statusFromEventType(type: `task.${TaskStatus}`): TaskStatus;
export function statusFromEventType(type: string): TaskStatus | undefined;
export function statusFromEventType(type: string): TaskStatus | undefined {
  const name = type.slice("task.".length);
  return Object.hasOwn(isTerminal, name) ? (name as TaskStatus) : undefined;
}
