export type RuntimeErrorCode =
  | "agent_not_found"
  | "unknown_model"
  | "unknown_tool_group"
  /** The agent's definition is invalid: two of its tools have the same name. */
  | "invalid_agent"
  /** The cost is limited, but the price of the model is unknown. */
  | "unpriced_model"
  /** A task with this id exists. */
  | "id_taken"
  /** No process runs the task at the moment. */
  | "unavailable"
  /** The runtime is shutting down. */
  | "closed";

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string) {
    super(message);
    this.name = "RuntimeError";
    this.code = code;
  }
}
