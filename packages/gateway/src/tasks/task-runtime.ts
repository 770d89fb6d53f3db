import type { Runtime } from "@deltawire/agent";
import type { Store } from "@deltawire/store";

/* What the HTTP side needs of the agent's runtime and of the store. */

export type TaskRuntime = Pick<
  Runtime,
  | "start"
  | "live"
  | "contents"
  | "progress"
  | "subscribe"
  | "pending"
  | "decide"
  | "cancel"
  | "input"
>;

export type TaskRecords = Pick<
  Store,
  "read" | "rootOf" | "get" | "head" | "snapshot" | "saveSnapshot" | "listTasks" | "keyed" | "prune"
>;
