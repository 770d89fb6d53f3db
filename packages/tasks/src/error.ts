export type TaskErrorCode =
  | "gap" // an event came whose predecessors are missing
  | "illegal_event" // what was to be written would break an invariant
  | "unreadable" // it is no event at all
  | "invalid_tool_output" // a tool returned what neither a model nor a person can be shown
  | "invalid_message"; // a chat client sent what is no message

/** The only error that this package throws on purpose. */
export class TaskError extends Error {
  readonly code: TaskErrorCode;
  /** Of the value that is wrong, such as `messages[0].parts`. */
  readonly path: string | undefined;

  constructor(
    code: TaskErrorCode,
    message: string,
    options: { cause?: unknown; path?: string } = {},
  ) {
    super(message, options);
    this.name = "TaskError";
    this.code = code;
    this.path = options.path;
  }
}

/** Closes a `switch` over one of our own unions: a member that was forgotten is a type error. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
