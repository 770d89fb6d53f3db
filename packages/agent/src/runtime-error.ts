export type RuntimeErrorCode = "unknown_agent" | "unknown_model" | "unknown_tool_group" | "closed";

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string) {
    super(message);
    this.name = "RuntimeError";
    this.code = code;
  }
}
