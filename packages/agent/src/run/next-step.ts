import type { TaskState, ToolCallItem } from "@deltawire/tasks";
import { findOpenCalls, getUnretractedItems } from "../task/task-items.ts";
import type { ReachedLimit } from "./reached-limit.ts";

/** What a task does next. Derived from its items, never from a finish reason. */
export type TaskStep =
  | { type: "answer_calls"; calls: ToolCallItem[] }
  /** Open calls get a result without being run: a limit is reached, or the final answer was requested. */
  | { type: "reject_calls"; calls: ToolCallItem[]; limit: ReachedLimit | undefined }
  | { type: "ask_user"; limit: ReachedLimit }
  /** `limit`: the reached limit that prevents the model from calling tools, if any. */
  | { type: "ask_model"; allowsToolCalls: boolean; limit?: ReachedLimit | undefined }
  | { type: "complete" };

export interface LimitState {
  /** The first limit that is reached. */
  reachedLimit: ReachedLimit | undefined;
  /** True if the user is asked whether the agent may continue beyond the limit. */
  asksUser: boolean;
  /** True once the final answer, without tool calls, was requested. */
  isFinishing: boolean;
}

export function getNextStep(
  state: TaskState,
  { reachedLimit, asksUser, isFinishing }: LimitState,
): TaskStep {
  const calls = findOpenCalls(state);
  if (calls.length > 0) {
    if (isFinishing) return { type: "reject_calls", calls, limit: reachedLimit };
    if (reachedLimit === undefined) return { type: "answer_calls", calls };
    return asksUser
      ? { type: "ask_user", limit: reachedLimit }
      : { type: "reject_calls", calls, limit: reachedLimit };
  }
  const askModel: TaskStep = {
    type: "ask_model",
    allowsToolCalls: !isFinishing && reachedLimit === undefined,
    limit: reachedLimit,
  };
  if (state.round === 0 || !state.round_done) return askModel;
  const hasCalls = getUnretractedItems(state, state.round_started_at_index).some(
    ({ type }) => type === "tool_call",
  );
  if (!(hasCalls && !isFinishing) && !hasPendingInput(state)) return { type: "complete" };
  return asksUser && !isFinishing && reachedLimit !== undefined
    ? { type: "ask_user", limit: reachedLimit }
    : askModel;
}

/** True if there is a user message that the next round would send to the model. */
function hasPendingInput(state: TaskState): boolean {
  const pendingInputs = state.inputs.filter(({ taken_at }) => taken_at === undefined);
  if (pendingInputs.some(({ delivery }) => delivery === "steer")) return true;
  // Queued messages wait for the end of a turn, and a turn without model output does not end.
  const lastType = getUnretractedItems(state, 0).at(-1)?.type;
  return pendingInputs.length > 0 && lastType !== undefined && lastType !== "tool_result";
}
