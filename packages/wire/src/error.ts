export type WireErrorCode =
  | "invalid_request" // what a client sent cannot be read; `param` is the path to the place
  | "unsupported" // it can be read, but this wire has no way to say it
  | "invalid_config" // a configuration that Codex itself refuses, in its words
  | "event_too_large" // an SSE event grew past the decoder's limit
  | "reply_too_large" // an upstream's reply exceeds one of the limits in reply-budget.ts
  | "no_text_decoder" // bytes were pushed into a decoder that was given no TextDecoder
  | "reply_failed" // the upstream's reply ended in an error, or broke off
  | "call_not_whole"; // a reply has a tool call that cannot be run, and nobody asked to be told

/** The only error that this package throws on purpose. */
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

/** Closes a `switch` over one of our own unions: a member that was forgotten is a type error. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
