import type { ContentPart, TaskLimits } from "@deltawire/tasks";
import type { ResponseInputItem, JsonObject } from "@deltawire/wire";

/** What a task should do. Plain JSON, because it is stored with the task so that another process can resume it. */
export interface TaskRequest {
  agent?: string;
  model?: string;
  input: string | readonly ContentPart[];
  /** The earlier conversation, as Responses items. */
  history?: readonly ResponseInputItem[];
  /** The highest reference number used in the conversation so far, if the history does not contain all references. */
  references_before?: number;
  /** Precedes the agent's own instructions. */
  preamble?: string;
  /** Follows the agent's own instructions. */
  instructions?: string;
  /**
   * Parameters for every round of this task, named as in the Responses API. Sub-agents have their own. Parameters that the
   * runtime sets are ignored. A `tool_choice` that forces a call applies until the first call.
   */
  options?: JsonObject;
  tool_groups?: readonly string[];
  session_id?: string;
  /** The chat that the task answers in. */
  chat_id?: string;
  /** Id of the access key whose limits the model requests count toward. Only the `agentFor` option uses it. */
  access_key?: string;
  /** Lowers the limits of the agent. Higher values have no effect. */
  limits?: TaskLimits;
  include?: readonly "content"[];
}

export type AgentRequest = Omit<TaskRequest, "input" | "history" | "references_before">;
