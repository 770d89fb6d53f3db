import { ModelError, type Model, type RoundNotes } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest, UpstreamFailure } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { Problem, problemReply } from "../problem.ts";
import type { RoundLine } from "../log.ts";
import type { Output } from "../relay/client-wire.ts";
import type { ClientRequest } from "../relay/plan.ts";
import type { Receiver } from "../relay/receiver.ts";
import type { Relay } from "../relay/relay.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { ownClient, RequestSource } from "../upstream/request-source.ts";
import { isPassing } from "../upstream/retry.ts";
import { takesCacheKey } from "../models/refused-options.ts";
import { EventQueue } from "./event-queue.ts";

type TargetsOf = (model: string) => Promise<readonly ModelTarget[]>;

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
        const queue = new EventQueue(signal);
        const events = new RelayedEvents(queue, report);
        void events.follow(options, { ...request, model: name });
        return queue;
      },
    }),
  };
}

/** A consumer that is behind by more than this holds up the upstream. */
const mostQueued = 256;

/** What a relay sends, into a queue. */
class RelayedEvents implements Receiver {
  readonly #queue: EventQueue;
  readonly #report: (notes: RoundNotes) => void;
  /** The last events are held back until it is known what the round took. */
  #last: readonly JsonObject[] = [];
  /** It failed before anything was told: an error of the round, and no event. */
  #refusal: ModelError | undefined;
  /** Nobody has to be kept waiting with words: while nothing is said, another upstream can still be asked. */
  readonly streams = false;
  hasSent = false;

  constructor(queue: EventQueue, report: (notes: RoundNotes) => void = () => undefined) {
    this.#queue = queue;
    this.#report = report;
  }

  async follow(
    { relay, targetsOf, onRound }: RelayModelOptions,
    request: ResponsesRequest,
  ): Promise<void> {
    const { signal } = this.#queue;
    if (signal.aborted) return;
    const began = performance.now();
    const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
    let failure: unknown;
    try {
      const targets = await targetsOf(request.model ?? "");
      if (signal.aborted) return;
      const client: ClientRequest = {
        wire: "responses",
        request: { ...heardBy(targets, request, relay), stream: true, store: false },
        codex: false,
        reasoning: "summary",
        keepsReasoning: true,
        parameters: "chosen",
      };
      const source = new RequestSource(ownClient, client.request);
      const ran = await relay.run({
        client,
        targets,
        receiver: this,
        signal,
        record,
        source,
        isRetriedByCaller: true,
      });
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

  send(outputs: readonly Output[]): boolean {
    if (this.#queue.signal.aborted) return true;
    this.hasSent = true;
    this.#queue.push(outputs as readonly JsonObject[]);
    return this.#queue.length <= mostQueued;
  }

  /** Some refusals are told to Responses clients in a stream that says nothing else. */
  end(outputs: readonly Output[], _bytes: undefined, failure: UpstreamFailure | undefined): void {
    if (failure !== undefined && !this.hasSent)
      this.#refusal = new ModelError(failure.code, failure.message);
    else this.#last = outputs as readonly JsonObject[];
    this.hasSent ||= this.#last.length > 0;
  }

  whenReady(go: () => void): void {
    this.#queue.whenTaken(go);
  }

  keepAlive(): void {}

  clear(): void {}

  /** What the round took is told before its last events, or before its failure. */
  #end(cause: unknown, record: ExchangeRecord): void {
    if (this.#queue.signal.aborted) return;
    this.#report(notesOf(record));
    const error = cause === undefined ? this.#refusal : modelError(cause);
    if (error !== undefined && !this.hasSent) return this.#queue.fail(error);
    if (this.#last.length > 0) this.#queue.push(this.#last);
    if (error !== undefined) this.#queue.push([failed(error)]);
    this.#queue.end();
  }
}

/** Nobody has asked for the key of the cache but us: that a server has no word for it is no repair to be told of. */
function heardBy(
  targets: readonly ModelTarget[],
  request: ResponsesRequest,
  { upstreams }: Relay,
): ResponsesRequest {
  const configs = targets.flatMap(({ upstream }) => upstreams.get(upstream)?.config ?? []);
  if (configs.some(takesCacheKey)) return request;
  const { prompt_cache_key: _unheard, ...rest } = request;
  return rest;
}

/** What a round took, for the task. */
export function notesOf({
  repairs,
  attempts,
  upstream,
  lessons,
  droppedParameters = [],
}: ExchangeRecord): RoundNotes {
  // The cache key is the gateway's own: no user misses it.
  const leftOut = droppedParameters.filter((name) => name !== "prompt_cache_key");
  const unnamed = (repairs.get("parameter_dropped") ?? 0) - leftOut.length;
  const counts = new Map(repairs).set("parameter_dropped", unnamed);
  if (unnamed <= 0) counts.delete("parameter_dropped");
  return {
    attempts,
    ...(upstream === undefined ? {} : { upstream }),
    ...(counts.size === 0 ? {} : { repairs: Object.fromEntries(counts) }),
    ...(lessons.length === 0 ? {} : { lessons }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
  };
}

/** How a stream ends that has told something already. */
export function failed({ code, message }: ModelError): JsonObject {
  const response = { object: "response", status: "failed", error: { code, message }, output: [] };
  return { type: "response.failed", response };
}

/** What a Problem, or anything else that was thrown on the way, is for an agent. */
export function modelError(cause: unknown): ModelError {
  const { code, status, body } = problemReply(cause);
  const { code: said, message } = body.error as { code: unknown; message: string };
  const retryable = isPassing(status) && !lasting.has(code);
  // A pause of ours is no wish of the server's: it costs nothing to look again before it is over.
  const isPause = code === "upstream_circuit_open";
  const retryAfter = cause instanceof Problem && !isPause ? cause.retryAfter : undefined;
  return new ModelError(typeof said === "string" ? said : code, causeFirst(cause) ?? message, {
    retryable,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
    cause,
  });
}

const lastError = "; last error: ";

/** Of a pause, which is the gateway's own, what led to it. A pause quotes that only to those who may see it. */
function causeFirst(problem: unknown): string | undefined {
  if (!(problem instanceof Problem) || problem.code !== "upstream_circuit_open") return undefined;
  const at = problem.message.indexOf(lastError);
  if (at < 0) return undefined;
  return `${problem.message.slice(at + lastError.length)} (${problem.message.slice(0, at)})`;
}

/** What only somebody can mend, whatever the status says. */
const lasting = new Set<string>([
  "insufficient_quota",
  "upstream_key_missing",
  "upstream_redirect",
  "upstream_web_page",
  "internal_error",
]);
