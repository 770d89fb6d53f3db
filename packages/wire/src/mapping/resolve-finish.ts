import type { Finish } from "./finish-reason.ts";

/** The state of a reply's tool calls at its end. */
export interface CallCompleteness {
  /** True if the reply has at least one call. */
  hasCalls: boolean;
  /** True if a call is incomplete and the upstream did not mark it as ended. */
  hasIncompleteCall: boolean;
}

/**
 * Returns how a reply ended, considering its calls; used for both client wires, streamed or not (decisions 5 to 7 and
 * 0014 in docs/decisions/wire.md). With an incomplete call the reply counts as truncated (`length`), regardless of the
 * upstream's finish reason, and none of its calls may run.
 */
export function resolveFinish(
  finish: Finish,
  { hasCalls, hasIncompleteCall }: CallCompleteness,
): Finish {
  if (isIncompleteFinish(finish)) return finish;
  if (hasIncompleteCall) return { kind: "length" };
  return { kind: hasCalls ? "tool_calls" : "stop" };
}

/** True if a reply that ended this way is incomplete: none of its calls may run. */
export function isIncompleteFinish({ kind }: Finish): boolean {
  return kind !== "stop" && kind !== "tool_calls";
}
