import type { ModelChoice } from "@deltawire/tasks/chats";
import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";

/** A model that agents can use. The gateway implements it with its upstreams; `createFetchModel` needs no gateway. */
export interface Model {
  /** The model name that the server knows. Default: the name of the agent. */
  readonly name?: string;
  /**
   * Streams the events of a Responses reply, in one batch per network chunk. Throws a ModelError if it fails before the first
   * event; later failures are `response.failed` events. Ends soon after `signal` is aborted.
   *
   * Calls `report` at most once, before the stream ends or fails. The task shows the report as warnings.
   */
  stream(
    request: ResponsesRequest,
    signal: AbortSignal,
    report?: (roundReport: RoundReport) => void,
  ): AsyncIterable<readonly (ResponseEvent | JsonObject)[]>;
}

/** Facts about a round that are not in its events. */
export interface RoundReport {
  /** Repairs to the request and the reply: the count of each, by repair code. */
  readonly repairs?: Readonly<Record<string, number>>;
  /** Number of requests to servers, including the last one. More than 1 if the request was retried. */
  readonly attempts?: number;
  /** The server that answered. */
  readonly upstream?: string;
  /** What was learned about the server during the round, for example a field that it does not support. */
  readonly lessons?: readonly string[];
  /** Names of options that were not sent because the server does not support them. */
  readonly droppedOptions?: readonly string[];
}

/** A request to a model failed or was rejected. */
export class ModelError extends Error {
  /** `context_length_exceeded` makes the agent compact its history. Other codes end the task unless the error is retryable. */
  readonly code: string;
  readonly retryable: boolean;
  /** Delay that the server requested before the next attempt, if any. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    message: string,
    {
      retryable = false,
      retryAfterMs,
      cause,
    }: { retryable?: boolean; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ModelError";
    this.code = code;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What a model can do: its catalog entry without the name. */
export type ModelCapabilities = Omit<ModelChoice, "name">;
