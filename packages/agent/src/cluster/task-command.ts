import type { InputItem } from "@deltawire/tasks";
import type { UserDecision } from "../approvals/check-decision.ts";
import type { DecisionResult } from "../approvals/decisions.ts";
import type { RuntimeErrorCode } from "../runtime-error.ts";

/** A user's action on a running task. Sent to the process that runs it, which may receive it twice if a process dies. */
export type TaskAction =
  | { type: "decide"; approvalId: string; decision: UserDecision }
  | { type: "cancel"; taskId: string; by: string; reason?: string }
  | { type: "input"; taskId: string; item: InputItem; delivery: "steer" | "queue" };

/** The answer of the process that runs the task. */
export type TaskActionResult =
  | { type: "decided"; result: DecisionResult }
  | { type: "canceled" }
  | { type: "added" }
  /** The task has ended. */
  | { type: "ended" }
  /** No process has run the task for some time, so the action was withdrawn. */
  | { type: "withdrawn" }
  /** The task cannot be resumed. */
  | { type: "failed"; code: RuntimeErrorCode; message: string };
