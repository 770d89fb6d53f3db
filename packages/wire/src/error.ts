export type WireErrorCode =
  | "invalid_request" // the client's request is malformed; `param` is the path of the field
  | "unsupported" // the value is valid, but the target format cannot express it
  | "invalid_config" // a configuration that Codex rejects, with Codex's own message
  | "event_too_large" // an SSE event or a JSON reply is longer than its limit in characters
  | "reply_too_large" // a reply exceeds another limit, for example in reply-budget.ts or json-limits.ts
  | "no_text_decoder" // bytes were pushed into a decoder without a TextDecoder
  | "reply_failed" // the upstream's reply ended with an error or was interrupted
  | "incomplete_tool_call"; // a reply has a tool call that must not run, and no `onIncomplete` was given

/** Every error that this package throws intentionally. */
export class WireError extends Error {
  readonly code: WireErrorCode;
  /** The path of the offending field, such as `input[3].content[0].type`. */
  readonly param: string | undefined;

  constructor(
    code: WireErrorCode,
    message: string,
    options: { param?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "WireError";
    this.code = code;
    this.param = options.param;
  }
}

/** For the `default` of an exhaustive `switch`: a missing case is a type error. */
export function assertNever(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
