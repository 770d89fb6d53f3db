import type { Runtime } from "@deltawire/agent";
import type { Store } from "@deltawire/store";

/* The parts of the agent runtime and the store that the HTTP routes use. */

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
  | "read"
  | "findRootTask"
  | "get"
  | "head"
  | "snapshot"
  | "saveSnapshot"
  | "owns"
  | "listTasks"
  | "claimIdempotencyKey"
  | "findTaskWithLostReply"
  | "setReplyLost"
  | "claimJob"
  | "prune"
>;
