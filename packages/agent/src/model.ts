import type { ModelChoice } from "@deltawire/tasks/chats";
import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";

/** What answers a model round. The gateway implements it over its upstreams; `fetch-model.ts` is one for use alone. */
export interface Model {
  /** As its server knows it; the agent's name unless it says more. */
  readonly name?: string;
  /**
   * The events of a Responses stream, in the batches in which the network brought them: one await for each. Throws a
   * ModelError where nothing has come; after the first event a failure is a `response.failed`. Ends soon after `signal`.
   *
   * `report` is called once, before the stream ends or fails: what had to be done to the reply is told in the task. Whoever
   * has nothing to tell need not call it.
   */
  stream(
    request: ResponsesRequest,
    signal: AbortSignal,
    report?: (notes: RoundNotes) => void,
  ): AsyncIterable<readonly (ResponseEvent | JsonObject)[]>;
}

/** What a round took that its events do not show. */
export interface RoundNotes {
  /** What was put right in the reply, and how often, by name. */
  readonly repairs?: Readonly<Record<string, number>>;
  /** How often servers were asked, the last time included: more than 1 means that it was tried again. */
  readonly attempts?: number;
  /** The server that answered. */
  readonly upstream?: string;
  /** What was learned of the server on the way, for example a field that it does not take. */
  readonly lessons?: readonly string[];
  /** Names of options that were left out of the request because this server does not take them. */
  readonly leftOut?: readonly string[];
}

/** A model could not be asked, or refused. */
export class ModelError extends Error {
  /** `context_length_exceeded` makes the agent compact; the others end the task, unless asking again helps. */
  readonly code: string;
  readonly retryable: boolean;
  /** How long the server asks to be left alone, where it says. */
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

/** What a model can do, whatever it is called. */
export type ModelAbilities = Omit<ModelChoice, "name">;
