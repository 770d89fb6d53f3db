import type { Runtime } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { TaskStatus } from "@deltawire/tasks";

/* What the HTTP side needs of the agent's runtime and of the store. */

export type TaskRuntime = Pick<
  Runtime,
  "start" | "live" | "subscribe" | "decide" | "cancel" | "input"
>;

export type TaskRecords = Pick<
  Store,
  "read" | "rootOf" | "get" | "head" | "snapshot" | "saveSnapshot" | "listTasks" | "keyed" | "prune"
>;

export function hasEnded(status: TaskStatus | undefined): boolean {
  return (
    status === "completed" || status === "failed" || status === "canceled" || status === "expired"
  );
}
