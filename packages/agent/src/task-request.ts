import type { ContentPart, Limits } from "@deltawire/tasks";
import type { InputItem, JsonObject } from "@deltawire/wire";

/** What a task is asked to do. Plain JSON: it is kept with the task, so that another process can go on with it. */
export interface TaskRequest {
  agent?: string;
  model?: string;
  input: string | readonly ContentPart[];
  /** What was said before, as items of the Responses wire. */
  history?: readonly InputItem[];
  /** The last number that references of the conversation have so far, where the history does not show all of them. */
  references_before?: number;
  /** Told before the agent's own instructions. */
  preamble?: string;
  /** Told behind them. */
  instructions?: string;
  /**
   * Parameters for every round of the task itself, by their names on the Responses wire; the agents that it asks for help
   * have their own. What the runtime sets is not among them, and a forced call is one call: then the model is free.
   */
  options?: JsonObject;
  tool_groups?: readonly string[];
  session_id?: string;
  /** The chat that it answers in. */
  chat_id?: string;
  /** Less than the agent may use; more is not given. */
  limits?: Limits;
  include?: readonly "content"[];
}

export type AgentRequest = Omit<TaskRequest, "input" | "history" | "references_before">;
