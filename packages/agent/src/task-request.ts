import type { ContentPart, Limits } from "@deltawire/tasks";
import type { InputItem } from "@deltawire/wire";

/** What a task is asked to do. Plain JSON: it is kept with the task, so that another process can go on with it. */
export interface TaskRequest {
  agent?: string;
  model?: string;
  input: string | readonly ContentPart[];
  /** What was said before, as items of the Responses wire. */
  history?: readonly InputItem[];
  instructions?: string;
  tool_groups?: readonly string[];
  session_id?: string;
  /** Less than the agent may use; more is not given. */
  limits?: Limits;
  include?: readonly "content"[];
}

export type AgentRequest = Omit<TaskRequest, "input" | "history">;
