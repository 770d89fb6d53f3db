import type { LogEntry } from "@deltawire/tasks";
import { warning } from "../contract/scenario.ts";

export { completed, created } from "../contract/scenario.ts";

export function warnings(
  taskId: string,
  from: number,
  count: number,
  message?: string,
): LogEntry[] {
  return Array.from({ length: count }, (_, at) => warning(taskId, from + at, message));
}
