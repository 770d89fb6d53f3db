import type { Redactor } from "@deltawire/agent";
import { redactErrorText } from "@deltawire/agent/basics";
import { WireError, type RepairCode, type ResponseUsage } from "@deltawire/wire";
import type { Config, ModelTarget } from "../config/config.ts";
import type { Lesson } from "../learning/lesson.ts";
import { LessonRegistry } from "../learning/lesson-registry.ts";
import { RequestLessons } from "../learning/request-lessons.ts";
import { GatewayError } from "../gateway-error.ts";
import { createRedactor } from "../security/create-redactor.ts";
import {
  canFallBack,
  toGatewayError,
  getOutcomeStatus,
  type FailedAttempt,
  type AttemptOutcome,
} from "./attempt-outcome.ts";
import { Ticker } from "./ticker.ts";
import type { RequestSource } from "./request-source.ts";
import { ConversationRetries, sleepUnlessAborted } from "./retry.ts";
import { Upstream, type UpstreamRequest } from "./upstream.ts";

/** A client's request to any endpoint. */
export interface Exchange {
  /** The models to try, in order. */
  targets: readonly ModelTarget[];
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
  /** True if the caller retries and shows that to the user: waits here must be short. Default: false. */
  isRetriedByCaller?: boolean;
  /** True if the body is a stream that cannot be sent again: no retry and no fallback after the first attempt. Default: false. */
  isSentOnce?: boolean;
}

/** What the log records of a request. */
export interface ExchangeRecord {
  upstream?: string;
  upstreamModel?: string;
  attempts: number;
  lessons: string[];
  /** The repairs of the latest attempt. */
  repairs: ReadonlyMap<RepairCode, number>;
  /** Names of the parameters that the latest attempt omitted. */
  droppedParameters?: readonly string[];
  usage?: ResponseUsage | undefined;
  /** Headers of the upstream that were not forwarded. */
  droppedHeaders?: readonly string[];
  failure?: string;
}

/** A request in the form that one upstream receives. */
export interface PreparedRequest {
  /** Sends the request once. Calls `onContent` each time content goes to the client, unless the reply has failed. */
  send(request: UpstreamRequest, onContent: (() => void) | undefined): Promise<AttemptOutcome>;
  /** Returns how to change the request after a rejection; undefined if no change would help. */
  deriveLesson?(rejection: Extract<AttemptOutcome, { type: "rejected" }>): Lesson | undefined;
}

/** Builds the request for a model of an upstream, changed by the lessons of this request. Throws if it cannot be built. */
export type PrepareRequest = (
  upstream: Upstream,
  model: string,
  lessons: readonly Lesson[],
) => PreparedRequest;

export type ExchangeOutcome = "answered" | "aborted";

/** Maximum number of lessons per request. No known server needs more. */
const maxLessons = 8;

/** If the caller retries itself, longer waits are left to it. */
const maxHiddenWaitMs = 1_000;

/** Sends requests to upstreams. Retries, learns and falls back before the first byte goes to the client. */
export class UpstreamClient {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly lessons = new LessonRegistry();
  readonly redactor: Redactor;
  /** Returns the listed model of an upstream that is closest to a mistyped name. */
  suggestModel: ((upstream: string, model: string) => string | undefined) | undefined;

  constructor(config: Config, env: Readonly<Record<string, string | undefined>>, tickMs?: number) {
    this.redactor = createRedactor(config);
    const ticker = new Ticker(tickMs);
    const conversationRetries = new ConversationRetries();
    this.upstreams = new Map(
      [...config.upstreams].map(([name, upstream]) => [
        name,
        new Upstream(upstream, env, conversationRetries, ticker),
      ]),
    );
  }

  /** Tries the targets in order. Throws a GatewayError, or what `prepare` threw, if none answers. */
  async request(exchange: Exchange, prepare: PrepareRequest): Promise<ExchangeOutcome> {
    let problem: GatewayError | undefined;
    let buildError: GatewayError | WireError | undefined;
    for (const target of exchange.targets) {
      const result = await this.#tryTarget(exchange, target, prepare);
      if (typeof result === "string") return result;
      // Another target may have an API that can express the request.
      if ("buildError" in result) buildError ??= result.buildError;
      else problem = result.problem;
      if (exchange.isSentOnce === true && exchange.record.attempts > 0) break;
      // An invalid request is invalid for every upstream.
      if ("problem" in result && !canFallBack(result.problem)) break;
    }
    throw (
      problem ?? buildError ?? new GatewayError("model_not_found", "no upstream serves this model")
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }

  /** Returns the error that the client receives if no other attempt follows. */
  toGatewayError(outcome: FailedAttempt, { config }: Upstream): GatewayError {
    return toGatewayError(outcome, config, this.redactor, Date.now());
  }

  async #tryTarget(
    exchange: Exchange,
    target: ModelTarget,
    prepare: PrepareRequest,
  ): Promise<
    ExchangeOutcome | { problem: GatewayError } | { buildError: GatewayError | WireError }
  > {
    const { record, signal, source } = exchange;
    const { upstream: name, model } = target;
    const upstream = this.upstreams.get(name);
    if (upstream === undefined)
      return { problem: new GatewayError("model_not_found", `unknown upstream "${name}"`) };
    record.upstream = name;
    if (model !== "") record.upstreamModel = model;
    const lessons = new RequestLessons();
    let prepared: PreparedRequest;
    // A request that cannot be built says nothing about the health of the upstream.
    try {
      prepared = prepare(upstream, model, lessons.list);
    } catch (error) {
      if (error instanceof WireError || error instanceof GatewayError) return { buildError: error };
      throw error;
    }
    const blockingError = upstream.findBlockingError(model, source);
    if (blockingError !== undefined) return { problem: blockingError };
    const request = upstream.beginRequest(model, source);
    let outcome: AttemptOutcome | undefined;
    let problem: GatewayError | undefined;
    // A lesson applies to other requests only once the upstream has answered a request that used it.
    const learn = (): void => {
      for (const lesson of lessons.takeConfirmed())
        this.lessons.add(name, model, lesson, Date.now());
    };
    const startedAt = performance.now();
    try {
      for (let attempt = 1; ; attempt += 1) {
        record.attempts += 1;
        // If `send` throws, the previous outcome must not be recorded again.
        outcome = undefined;
        outcome = await prepared.send(request, lessons.list.length === 0 ? undefined : learn);
        if (outcome.type === "aborted") return "aborted";
        if (outcome.type === "answered") {
          const { usage, failure, lesson } = outcome;
          record.usage = usage;
          if (lesson !== undefined) lessons.add(this.#redactLesson(lesson));
          if (failure === undefined || lesson !== undefined) learn();
          if (failure !== undefined) {
            record.failure = failure.code;
            problem = this.#toHealthError({ type: "failed", failure }, upstream);
          }
          return "answered";
        }
        const lesson =
          outcome.type === "rejected" && lessons.list.length < maxLessons
            ? prepared.deriveLesson?.(outcome)
            : undefined;
        if (lesson !== undefined) {
          lessons.add(this.#redactLesson(lesson));
          record.lessons.push(lesson.code);
          // Sending a changed request is not a retry.
          attempt -= 1;
        }
        const delayMs =
          lesson === undefined ? takeRetryDelay(exchange, request, outcome, attempt, startedAt) : 0;
        if (delayMs === undefined) {
          problem = this.#addModelSuggestion(this.toGatewayError(outcome, upstream), target);
          return { problem };
        }
        if (delayMs > 0 && !(await sleepUnlessAborted(delayMs, signal))) return "aborted";
        prepared = prepare(upstream, model, lessons.list);
      }
    } finally {
      request.finish(outcome, problem);
    }
  }

  /** Lessons are shown to users and quote the upstream. */
  #redactLesson(lesson: Lesson): Lesson {
    return { ...lesson, providerMessage: redactErrorText(lesson.providerMessage, this.redactor) };
  }

  /** Returns undefined if the failure does not concern the health of the upstream, such as a context that is too long. */
  #toHealthError(outcome: FailedAttempt, upstream: Upstream): GatewayError | undefined {
    const status = getOutcomeStatus(outcome);
    return status > 0 && status < 500 ? undefined : this.toGatewayError(outcome, upstream);
  }

  /** Adds the closest listed model to a 404, in case the name was mistyped. */
  #addModelSuggestion(problem: GatewayError, { upstream, model }: ModelTarget): GatewayError {
    const suggestion = problem.status === 404 ? this.suggestModel?.(upstream, model) : undefined;
    if (suggestion === undefined) return problem;
    const { code, message, ...options } = problem;
    return new GatewayError(code, `${message} (did you mean ${upstream}/${suggestion}?)`, options);
  }
}

/** Uses one retry and returns the milliseconds to wait before it; undefined if there must be none. */
function takeRetryDelay(
  { isRetriedByCaller = false, isSentOnce = false }: Exchange,
  request: UpstreamRequest,
  outcome: FailedAttempt,
  attempt: number,
  startedAt: number,
): number | undefined {
  if (isSentOnce || (isRetriedByCaller && performance.now() - startedAt > maxHiddenWaitMs))
    return undefined;
  const delayMs = request.takeRetryDelay(outcome, attempt);
  return isRetriedByCaller && delayMs !== undefined && delayMs > maxHiddenWaitMs
    ? undefined
    : delayMs;
}
