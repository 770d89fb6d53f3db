import { ModelError, type Model, type RoundNotes } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { Problem, problemReply } from "../http/problem.ts";
import type { RoundLine } from "../log.ts";
import type { Output } from "../relay/client-wire.ts";
import type { ClientRequest } from "../relay/plan.ts";
import type { Receiver } from "../relay/receiver.ts";
import type { ExchangeRecord, Relay } from "../relay/relay.ts";
import { isPassing } from "../relay/retry.ts";

type TargetsOf = (model: string) => Promise<readonly ModelTarget[]>;
type Batch = readonly JsonObject[];

export interface RelayModelOptions {
  relay: Relay;
  targetsOf: TargetsOf;
  /** Hears of every round, whatever became of it. */
  onRound?: (line: RoundLine) => void;
}

/** One of the gateway's models in process: its tries, its lessons and its other upstreams included. */
export function relayModel(options: RelayModelOptions, name: string): Model {
  return {
    stream: (request, signal, report) => ({
      [Symbol.asyncIterator]: () => {
        const events = new RelayedEvents(signal, report);
        void events.follow(options, { ...request, model: name });
        return events;
      },
    }),
  };
}

/** A consumer that is behind by more than this holds up the upstream. */
const mostQueued = 256;

type State =
  | { is: "open" }
  /** The last event has come, and is held back until it is known what the round took. */
  | { is: "ending"; refusal: ModelError | undefined }
  | { is: "ended" }
  /** Nothing of it has been told yet. */
  | { is: "failed"; error: ModelError };

/** What a relay sends, for one who takes it when ready. */
class RelayedEvents implements Receiver, AsyncIterator<Batch, undefined> {
  readonly #outer: AbortSignal;
  readonly #report: (notes: RoundNotes) => void;
  readonly #stop = new AbortController();
  readonly #leave = (): void => {
    this.#queued = [];
    this.#stop.abort();
    this.#close({ is: "ended" });
  };
  #state: State = { is: "open" };
  #queued: JsonObject[] = [];
  #wake: (() => void) | undefined;
  #ready: (() => void) | undefined;
  /** Nobody has to be kept waiting with words: while nothing is said, another upstream can still be asked. */
  readonly streams = false;
  hasSent = false;

  constructor(signal: AbortSignal, report: (notes: RoundNotes) => void = () => undefined) {
    this.#outer = signal;
    this.#report = report;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  async follow(
    { relay, targetsOf, onRound }: RelayModelOptions,
    request: ResponsesRequest,
  ): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const began = performance.now();
    const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
    let failure: unknown;
    try {
      const client: ClientRequest = {
        wire: "responses",
        request: { ...request, stream: true, store: false },
        codex: false,
        reasoning: "summary",
        keepsReasoning: true,
      };
      const targets = await targetsOf(request.model ?? "");
      if (signal.aborted) return;
      const ran = await relay.run({ client, targets, receiver: this, signal, record });
      if (ran === "left" && !signal.aborted)
        throw new Problem("upstream_error", "the reply was left unread for too long");
    } catch (error) {
      failure = error;
    } finally {
      this.#end(failure, record);
      onRound?.({
        for: request.prompt_cache_key ?? undefined,
        model: request.model ?? undefined,
        ms: performance.now() - began,
        left: signal.aborted,
        failure: failure === undefined ? undefined : problemReply(failure).code,
        record,
      });
    }
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    while (this.#state.is === "ending" || (this.#state.is === "open" && this.#queued.length === 0))
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queued.length > 0) {
      const value = this.#queued;
      this.#queued = [];
      const go = this.#ready;
      this.#ready = undefined;
      go?.();
      return { done: false, value };
    }
    const state = this.#state;
    this.#state = { is: "ended" };
    if (state.is === "failed") throw state.error;
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Batch, undefined>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  send(outputs: readonly Output[]): boolean {
    if (this.#state.is !== "open") return true;
    const last = outputs.at(-1) as JsonObject | undefined;
    if (isLast(last)) {
      const refusal = this.hasSent ? undefined : refusalIn(last);
      this.#state = { is: "ending", refusal };
      if (refusal !== undefined) return true;
    }
    this.hasSent = true;
    // The relay uses its array again.
    for (const output of outputs) this.#queued.push(output as JsonObject);
    if (this.#state.is === "open") this.#wake?.();
    return this.#queued.length <= mostQueued;
  }

  whenReady(go: () => void): void {
    if (this.#queued.length === 0) go();
    else this.#ready = go;
  }

  keepAlive(): void {}

  clear(): void {}

  end(): void {}

  /** What the round took is told before its last event, or before its failure. */
  #end(cause: unknown, record: ExchangeRecord): void {
    const state = this.#state;
    if (state.is !== "open" && state.is !== "ending") return;
    this.#report(notesOf(record));
    const refusal = state.is === "ending" ? state.refusal : undefined;
    const error = cause === undefined ? refusal : modelError(cause);
    if (error !== undefined && !this.hasSent) return this.#close({ is: "failed", error });
    if (error !== undefined) this.#queued.push(failed(error));
    this.#close({ is: "ended" });
  }

  #close(state: State): void {
    if (this.#state.is === "ended" || this.#state.is === "failed") return;
    this.#state = state;
    this.#outer.removeEventListener("abort", this.#leave);
    this.#wake?.();
  }
}

function isLast(event: JsonObject | undefined): event is JsonObject {
  const { type } = event ?? {};
  return (
    type === "response.completed" || type === "response.incomplete" || type === "response.failed"
  );
}

/** What a round took, for the task. */
export function notesOf({ repairs, attempts, upstream, lessons }: ExchangeRecord): RoundNotes {
  return {
    attempts,
    ...(upstream === undefined ? {} : { upstream }),
    ...(repairs.size === 0 ? {} : { repairs: Object.fromEntries(repairs) }),
    ...(lessons.length === 0 ? {} : { lessons }),
  };
}

/** How a stream ends that has told something already. */
export function failed({ code, message }: ModelError): JsonObject {
  const response = { object: "response", status: "failed", error: { code, message }, output: [] };
  return { type: "response.failed", response };
}

/** Some refusals are told to Responses clients in a stream that says nothing else. */
function refusalIn({ type, response }: JsonObject): ModelError | undefined {
  if (type !== "response.failed") return undefined;
  const { error } = response as { error?: { code?: string; message?: string } | null };
  const { code = "upstream_error", message = "the upstream failed" } = error ?? {};
  return new ModelError(code, message);
}

/** What a Problem, or anything else that was thrown on the way, is for an agent. */
export function modelError(cause: unknown): ModelError {
  const { code, status, body } = problemReply(cause);
  const { code: said, message } = body.error as { code: unknown; message: string };
  const retryable = isPassing(status) && !lasting.has(code);
  const retryAfter = cause instanceof Problem ? cause.retryAfter : undefined;
  return new ModelError(typeof said === "string" ? said : code, message, {
    retryable,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
    cause,
  });
}

/** What only somebody can mend, whatever the status says. */
const lasting = new Set<string>([
  "insufficient_quota",
  "upstream_key_missing",
  "upstream_redirect",
  "internal_error",
]);
