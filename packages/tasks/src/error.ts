export type TaskErrorCode =
  | "gap" // earlier events are missing
  | "invalid_event" // the event would break an invariant
  | "unreadable" // the input is inconsistent, for example it refers to a task that does not exist
  | "invalid_tool_output" // the output of a tool can be shown neither to a model nor to a user
  | "invalid_message"; // a chat client sent an invalid message

/** The error that this package throws. */
export class TaskError extends Error {
  readonly code: TaskErrorCode;
  /** Path of the invalid value, such as `messages[0].parts`. */
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

/** For the default case of a `switch` over a union: a missing case is a type error. */
export function assertNever(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
