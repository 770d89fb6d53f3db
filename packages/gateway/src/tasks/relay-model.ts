import type { Model, RoundReport } from "@deltawire/agent";
import { ModelError } from "@deltawire/agent/basics";
import type { JsonObject, ResponsesRequest, UpstreamFailure } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { GatewayError, toErrorReply } from "../gateway-error.ts";
import type { ModelRoundLogEntry } from "../log.ts";
import type { ClientEvent } from "../relay/client-wire.ts";
import type { ClientRequest } from "../relay/client-request.ts";
import type { ReplyReceiver } from "../relay/receiver.ts";
import type { Relay } from "../relay/relay.ts";
import type { ExchangeRecord } from "../upstream/upstream-client.ts";
import { gatewayClientName, RequestSource } from "../upstream/request-source.ts";
import { isTransientStatus } from "../upstream/retry.ts";
import { supportsCacheKey } from "../models/unsupported-options.ts";
import { EventQueue } from "./event-queue.ts";

type ResolveTargets = (model: string) => Promise<readonly ModelTarget[]>;

export interface RelayModelOptions {
  relay: Relay;
  resolveTargets: ResolveTargets;
  /** Called after every round, whether it succeeded or not. */
  onRound?: (entry: ModelRoundLogEntry) => void;
}

/** Creates a Model that sends its requests through the relay, with its retries, lessons and fallback upstreams. */
export function createRelayModel(options: RelayModelOptions, name: string): Model {
  return {
    stream: (request, signal, report) => ({
      [Symbol.asyncIterator]: () => {
        const queue = new EventQueue(signal);
        const receiver = new RelayEventReceiver(queue, report);
        void receiver.run(options, { ...request, model: name });
        return queue;
      },
    }),
  };
}

/** If more events are queued, reading from the upstream is paused. */
const maxQueuedEvents = 256;

/** Puts the events of a relayed reply into a queue. */
class RelayEventReceiver implements ReplyReceiver {
  readonly #queue: EventQueue;
  readonly #report: (notes: RoundReport) => void;
  /** The last events, which are held back until the round has been reported. */
  #finalEvents: readonly JsonObject[] = [];
  /** The error of a round that failed before its first event. */
  #initialError: ModelError | undefined;
  /** False, because no keep-alives are needed: another upstream can be tried until the first event. */
  readonly isStreaming = false;
  hasSent = false;

  constructor(queue: EventQueue, report: (notes: RoundReport) => void = () => undefined) {
    this.#queue = queue;
    this.#report = report;
  }

  async run(
    { relay, resolveTargets, onRound }: RelayModelOptions,
    request: ResponsesRequest,
  ): Promise<void> {
    const { signal } = this.#queue;
    if (signal.aborted) return;
    const startedAt = performance.now();
    const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
    let failure: unknown;
    try {
      const targets = await resolveTargets(request.model ?? "");
      if (signal.aborted) return;
      const client: ClientRequest = {
        wire: "responses",
        request: {
          ...dropUnsupportedCacheKey(targets, request, relay),
          stream: true,
          store: false,
        },
        isCodex: false,
        reasoning: "summary",
        returnsReasoning: true,
        parameters: "user-set",
      };
      const source = new RequestSource(gatewayClientName, client.request);
      const result = await relay.run({
        client,
        targets,
        receiver: this,
        signal,
        record,
        source,
        isRetriedByCaller: true,
      });
      if (result === "aborted" && !signal.aborted)
        throw new GatewayError(
          "upstream_error",
          "the reply was canceled because it was not read in time",
        );
    } catch (error) {
      failure = error;
    } finally {
      this.#end(failure, record);
      onRound?.({
        ownerId: request.prompt_cache_key ?? undefined,
        model: request.model ?? undefined,
        ms: performance.now() - startedAt,
        clientDisconnected: signal.aborted,
        failure: failure === undefined ? undefined : toErrorReply(failure).code,
        record,
      });
    }
  }

  send(clientEvents: readonly ClientEvent[]): boolean {
    if (this.#queue.signal.aborted) return true;
    this.hasSent = true;
    this.#queue.push(clientEvents as readonly JsonObject[]);
    return this.#queue.length <= maxQueuedEvents;
  }

  /** Some errors are sent to Responses clients as a stream with only an error event, which is a failed round here. */
  end(
    clientEvents: readonly ClientEvent[],
    _bytes: undefined,
    failure: UpstreamFailure | undefined,
  ): void {
    if (failure !== undefined && !this.hasSent)
      this.#initialError = new ModelError(failure.code, failure.message);
    else this.#finalEvents = clientEvents as readonly JsonObject[];
    this.hasSent ||= this.#finalEvents.length > 0;
  }

  whenReady(resume: () => void): void {
    this.#queue.whenDrained(resume);
  }

  keepAlive(): void {}

  reset(): void {}

  /** Reports the round before its last events or its error. */
  #end(cause: unknown, record: ExchangeRecord): void {
    if (this.#queue.signal.aborted) return;
    this.#report(toRoundReport(record));
    const error = cause === undefined ? this.#initialError : toRelayModelError(cause);
    if (error !== undefined && !this.hasSent) return this.#queue.fail(error);
    if (this.#finalEvents.length > 0) this.#queue.push(this.#finalEvents);
    if (error !== undefined) this.#queue.push([buildFailedEvent(error)]);
    this.#queue.end();
  }
}

/** Removes the gateway's cache key if no upstream supports it, so that its removal is not reported as a repair. */
function dropUnsupportedCacheKey(
  targets: readonly ModelTarget[],
  request: ResponsesRequest,
  { upstreams, lessons }: Relay,
): ResponsesRequest {
  const isSupported = targets.some((target) => {
    const config = upstreams.get(target.upstream)?.config;
    return config !== undefined && supportsCacheKey(target, config, lessons);
  });
  if (isSupported) return request;
  const { prompt_cache_key: _cacheKey, ...rest } = request;
  return rest;
}

/** Converts the record of an exchange to a report for the task. */
export function toRoundReport({
  repairs,
  attempts,
  upstream,
  lessons,
  droppedParameters = [],
}: ExchangeRecord): RoundReport {
  // The cache key was set by the gateway, not by a user.
  const droppedOptions = droppedParameters.filter((name) => name !== "prompt_cache_key");
  const unnamedCount = (repairs.get("parameter_dropped") ?? 0) - droppedOptions.length;
  const counts = new Map(repairs).set("parameter_dropped", unnamedCount);
  if (unnamedCount <= 0) counts.delete("parameter_dropped");
  return {
    attempts,
    ...(upstream === undefined ? {} : { upstream }),
    ...(counts.size === 0 ? {} : { repairs: Object.fromEntries(counts) }),
    ...(lessons.length === 0 ? {} : { lessons }),
    ...(droppedOptions.length === 0 ? {} : { droppedOptions }),
  };
}

/** Builds the last event of a stream that fails after its first event. */
export function buildFailedEvent({ code, message }: ModelError): JsonObject {
  const response = { object: "response", status: "failed", error: { code, message }, output: [] };
  return { type: "response.failed", response };
}

/** Converts a GatewayError or any other error to a ModelError. */
export function toRelayModelError(cause: unknown): ModelError {
  const { code, status, body } = toErrorReply(cause);
  const { code: providerCode, message } = body.error as { code: unknown; message: string };
  const retryable = isTransientStatus(status) && !permanentCodes.has(code);
  // The server did not request this pause, so retrying earlier is harmless.
  const isCircuitOpen = code === "upstream_circuit_open";
  const retryAfter = cause instanceof GatewayError && !isCircuitOpen ? cause.retryAfter : undefined;
  return new ModelError(
    typeof providerCode === "string" ? providerCode : code,
    formatPausedMessage(cause) ?? message,
    {
      retryable,
      retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
      cause,
    },
  );
}

const lastErrorMarker = "; last error: ";

/**
 * Puts the last error of a paused upstream first: "ERROR (upstream X is paused)". Undefined if the message does not contain
 * the error, because the client may not see it.
 */
function formatPausedMessage(problem: unknown): string | undefined {
  if (!(problem instanceof GatewayError) || problem.code !== "upstream_circuit_open")
    return undefined;
  const index = problem.message.indexOf(lastErrorMarker);
  if (index < 0) return undefined;
  return `${problem.message.slice(index + lastErrorMarker.length)} (${problem.message.slice(0, index)})`;
}

/** Codes of errors that a retry cannot fix, even if the status is transient. */
const permanentCodes = new Set<string>([
  "insufficient_quota",
  "upstream_key_missing",
  "upstream_redirect",
  "upstream_web_page",
  "internal_error",
]);
