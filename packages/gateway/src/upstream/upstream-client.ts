import { errorText, type Redactor } from "@deltawire/agent";
import { WireError, type RepairCode, type ResponseUsage } from "@deltawire/wire";
import type { Config, ModelTarget } from "../config/config.ts";
import type { Lesson } from "../learning/lesson.ts";
import { Lessons } from "../learning/memory.ts";
import { RequestLessons } from "../learning/request-lessons.ts";
import { Problem } from "../problem.ts";
import { redactorFor } from "../security/redactor.ts";
import { mayFallBack, problemOf, statusOf, type FailedOutcome, type Outcome } from "./failure.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { RequestSource } from "./request-source.ts";
import { ConversationRetries, waited } from "./retry.ts";
import { Upstream, type UpstreamRequest } from "./upstream.ts";

/** A client's request, to any endpoint. */
export interface Exchange {
  /** Tried in order. */
  targets: readonly ModelTarget[];
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
  /** The caller retries by itself and shows it: only short waits are spent here. */
  isRetriedByCaller?: boolean;
  /** The body is a stream that cannot be sent again: no retry and no fallback after the first attempt. */
  isSentOnce?: boolean;
}

/** What the log records of a request. */
export interface ExchangeRecord {
  upstream?: string;
  upstreamModel?: string;
  attempts: number;
  lessons: string[];
  /** Of the latest attempt. */
  repairs: ReadonlyMap<RepairCode, number>;
  /** Names of the parameters that the latest attempt left out. */
  droppedParameters?: readonly string[];
  usage?: ResponseUsage | undefined;
  /** Headers of the upstream that were not forwarded. */
  droppedHeaders?: readonly string[];
  failure?: string;
}

/** A request in the form that one upstream receives. */
export interface PreparedRequest {
  /** Sends it once. Calls `onContent`, possibly often, when content goes to the client and the reply has not failed. */
  send(request: UpstreamRequest, onContent: (() => void) | undefined): Promise<Outcome>;
  /** Returns how to change the request after a refusal; undefined if no change would help. */
  lessonFrom?(refusal: Extract<Outcome, { is: "refused" }>): Lesson | undefined;
}

/** Builds the request for a model of an upstream, changed by the lessons of this request. Throws if it cannot be built. */
export type Prepare = (
  upstream: Upstream,
  model: string,
  lessons: readonly Lesson[],
) => PreparedRequest;

export type RunOutcome = "answered" | "left";

/** Per request; no known server needs more. */
const maxLessons = 8;

/** Longer waits are left to a caller that retries by itself. */
const maxHiddenWaitMs = 1_000;

/** Sends requests to upstreams. Retries, learns and falls back before the first byte goes to the client. */
export class UpstreamClient {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly lessons = new Lessons();
  readonly redactor: Redactor;
  /** Returns the listed model of an upstream that is closest to a mistyped name. */
  suggestModel: ((upstream: string, model: string) => string | undefined) | undefined;

  constructor(config: Config, env: Readonly<Record<string, string | undefined>>, beatMs?: number) {
    this.redactor = redactorFor(config);
    const heartbeat = new Heartbeat(beatMs);
    const conversations = new ConversationRetries();
    this.upstreams = new Map(
      [...config.upstreams].map(([name, each]) => [
        name,
        new Upstream(each, env, conversations, heartbeat),
      ]),
    );
  }

  /** Tries the targets in order. Throws a Problem, or what `prepare` threw, if none answers. */
  async request(exchange: Exchange, prepare: Prepare): Promise<RunOutcome> {
    let problem: Problem | undefined;
    let unbuildable: Problem | WireError | undefined;
    for (const target of exchange.targets) {
      const tried = await this.#tryTarget(exchange, target, prepare);
      if (typeof tried === "string") return tried;
      // Another target may speak a wire that can express the request.
      if ("unbuildable" in tried) unbuildable ??= tried.unbuildable;
      else problem = tried.problem;
      if (exchange.isSentOnce === true && exchange.record.attempts > 0) break;
      // An invalid request is invalid for every upstream.
      if ("problem" in tried && !mayFallBack(tried.problem)) break;
    }
    throw problem ?? unbuildable ?? new Problem("model_not_found", "no upstream serves this model");
  }

  async close(): Promise<void> {
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }

  /** The failure that a client receives if nothing else is tried. */
  problemOf(outcome: FailedOutcome, { config }: Upstream): Problem {
    return problemOf(outcome, config, this.redactor, Date.now());
  }

  async #tryTarget(
    exchange: Exchange,
    target: ModelTarget,
    prepare: Prepare,
  ): Promise<RunOutcome | { problem: Problem } | { unbuildable: Problem | WireError }> {
    const { record, signal, source } = exchange;
    const { upstream: name, model } = target;
    const upstream = this.upstreams.get(name);
    if (upstream === undefined)
      return { problem: new Problem("model_not_found", `there is no upstream "${name}"`) };
    record.upstream = name;
    if (model !== "") record.upstreamModel = model;
    const lessons = new RequestLessons();
    let prepared: PreparedRequest;
    // A request that cannot be built says nothing about the health of the upstream.
    try {
      prepared = prepare(upstream, model, lessons.all);
    } catch (error) {
      if (error instanceof WireError || error instanceof Problem) return { unbuildable: error };
      throw error;
    }
    const unusable = upstream.unusable(model, source);
    if (unusable !== undefined) return { problem: unusable };
    const request = upstream.begin(model, source);
    let outcome: Outcome | undefined;
    let problem: Problem | undefined;
    // A lesson applies to other requests only once the upstream has answered a request that used it.
    const learn = (): void => {
      for (const lesson of lessons.takeProven())
        this.lessons.learn(name, model, lesson, Date.now());
    };
    const began = performance.now();
    try {
      for (let tried = 1; ; tried += 1) {
        record.attempts += 1;
        outcome = undefined;
        outcome = await prepared.send(request, lessons.all.length === 0 ? undefined : learn);
        if (outcome.is === "left") return "left";
        if (outcome.is === "answered") {
          const { usage, failure, lesson } = outcome;
          record.usage = usage;
          if (lesson !== undefined) lessons.add(this.#redacted(lesson));
          if (failure === undefined || lesson !== undefined) learn();
          if (failure !== undefined) {
            record.failure = failure.code;
            problem = this.#problemOfUpstream({ is: "failed", failure }, upstream);
          }
          return "answered";
        }
        const lesson =
          outcome.is === "refused" && lessons.all.length < maxLessons
            ? prepared.lessonFrom?.(outcome)
            : undefined;
        if (lesson !== undefined) {
          lessons.add(this.#redacted(lesson));
          record.lessons.push(lesson.code);
          tried -= 1;
        }
        const wait = lesson === undefined ? waitAfter(exchange, request, outcome, tried, began) : 0;
        if (wait === undefined) {
          problem = this.#withSuggestion(this.problemOf(outcome, upstream), target);
          return { problem };
        }
        if (wait > 0 && !(await waited(wait, signal))) return "left";
        prepared = prepare(upstream, model, lessons.all);
      }
    } finally {
      request.finish(outcome, problem);
    }
  }

  /** Lessons are shown to users and quote the upstream. */
  #redacted(lesson: Lesson): Lesson {
    return { ...lesson, said: errorText(lesson.said, this.redactor) };
  }

  /** Undefined if the failure says nothing about the health of the upstream: a context that is too long, a filter. */
  #problemOfUpstream(outcome: FailedOutcome, upstream: Upstream): Problem | undefined {
    const status = statusOf(outcome);
    return status > 0 && status < 500 ? undefined : this.problemOf(outcome, upstream);
  }

  /** Adds the closest listed model to a 404, in case the name was mistyped. */
  #withSuggestion(problem: Problem, { upstream, model }: ModelTarget): Problem {
    const near = problem.status === 404 ? this.suggestModel?.(upstream, model) : undefined;
    if (near === undefined) return problem;
    const { code, message, ...more } = problem;
    return new Problem(code, `did you mean ${upstream}/${near}? ${message}`, more);
  }
}

/** Milliseconds to wait before the next attempt; undefined if there is none. */
function waitAfter(
  { isRetriedByCaller = false, isSentOnce = false }: Exchange,
  request: UpstreamRequest,
  outcome: FailedOutcome,
  tried: number,
  began: number,
): number | undefined {
  if (isSentOnce || (isRetriedByCaller && performance.now() - began > maxHiddenWaitMs))
    return undefined;
  const wait = request.waitAfter(outcome, tried);
  return isRetriedByCaller && wait !== undefined && wait > maxHiddenWaitMs ? undefined : wait;
}
