import type { TaskState, ToolCallItem } from "@deltawire/tasks";
import { openCalls, unretractedItems } from "../task/items.ts";
import type { Reached } from "./reached-limit.ts";

/** What is to be done next in a task. It follows from its items, never from a finish reason. */
export type Step =
  | { is: "answer calls"; calls: ToolCallItem[] }
  /** A limit is reached: its open calls are answered without being run. */
  | { is: "refuse calls"; calls: ToolCallItem[]; limit: Reached | undefined }
  | { is: "ask the user"; limit: Reached }
  /** `limit`: the one because of which the model gets no tools any more. */
  | { is: "ask the model"; tools: boolean; limit?: Reached | undefined }
  | { is: "complete" };

export interface Budget {
  /** The first limit that is reached. */
  reached: Reached | undefined;
  /** Whether the user is asked before the agent stops at it. */
  asks: boolean;
  /** The model has been asked without tools: what comes now is the last word. */
  finishing: boolean;
}

export function nextStep(state: TaskState, { reached, asks, finishing }: Budget): Step {
  const calls = openCalls(state);
  if (calls.length > 0) {
    if (finishing) return { is: "refuse calls", calls, limit: reached };
    if (reached === undefined) return { is: "answer calls", calls };
    return asks
      ? { is: "ask the user", limit: reached }
      : { is: "refuse calls", calls, limit: reached };
  }
  const ask: Step = {
    is: "ask the model",
    tools: !finishing && reached === undefined,
    limit: reached,
  };
  if (state.round === 0 || !state.round_done) return ask;
  const called = unretractedItems(state, state.round_started_at_index).some(
    ({ type }) => type === "tool_call",
  );
  if (!(called && !finishing) && !hasInput(state)) return { is: "complete" };
  return asks && !finishing && reached !== undefined ? { is: "ask the user", limit: reached } : ask;
}

/** Whether the user has said something that the next round would tell the model. */
function hasInput(state: TaskState): boolean {
  const waiting = state.inputs.filter(({ taken_at }) => taken_at === undefined);
  if (waiting.some(({ delivery }) => delivery === "steer")) return true;
  // What is queued waits for the end of a turn, and one in which the model said nothing has none.
  const last = unretractedItems(state, 0).at(-1)?.type;
  return waiting.length > 0 && last !== undefined && last !== "tool_result";
}
