export type RuntimeErrorCode =
  | "unknown_agent"
  | "unknown_model"
  | "unknown_tool_group"
  /** The agent cannot work as it is defined: two of its tools have one name. */
  | "invalid_agent"
  /** The cost is limited, and nobody knows what the model costs. */
  | "unpriced_model"
  | "closed";

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string) {
    super(message);
    this.name = "RuntimeError";
    this.code = code;
  }
}
