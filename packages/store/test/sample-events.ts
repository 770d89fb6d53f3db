import type { LogEntry } from "@deltawire/tasks";
import { warningEntry } from "../contract/scenario.ts";

export { taskCompletedEntry, taskCreatedEntry } from "../contract/scenario.ts";

export function warningEntries(
  taskId: string,
  from: number,
  count: number,
  message?: string,
): LogEntry[] {
  return Array.from({ length: count }, (_, index) => warningEntry(taskId, from + index, message));
}
