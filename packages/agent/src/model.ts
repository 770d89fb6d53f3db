import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";

/** What answers a model round. The gateway implements it over its upstreams; `fetch-model.ts` is one for use alone. */
export interface Model {
  /** As its server knows it; the agent's name unless it says more. */
  readonly name?: string;
  /**
   * The events of a Responses stream, in the batches in which the network brought them: one await for each. Throws a
   * ModelError where nothing has come; after the first event a failure is a `response.failed`. Ends soon after `signal`.
   */
  stream(
    request: ResponsesRequest,
    signal: AbortSignal,
  ): AsyncIterable<readonly (ResponseEvent | JsonObject)[]>;
}

/** A model could not be asked, or refused. */
export class ModelError extends Error {
  /** `context_length_exceeded` makes the agent compact; the others end the task. */
  readonly code: string;
  readonly retryable: boolean;

  constructor(
    code: string,
    message: string,
    { retryable = false, cause }: { retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ModelError";
    this.code = code;
    this.retryable = retryable;
  }
}
