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

/** A request of a client, whatever it asks for. */
export interface Exchange {
  /** Tried in order. */
  targets: readonly ModelTarget[];
  signal: AbortSignal;
  record: ExchangeRecord;
  source: RequestSource;
  /** The caller tries again by itself, and shows that it does: only quick retries are made here. */
  isRetriedByCaller?: boolean;
  /** Its body can be sent only once: nothing is tried after an upstream has been sent it. */
  isSentOnce?: boolean;
}

/** What the log tells of a request. */
export interface ExchangeRecord {
  upstream?: string;
  upstreamModel?: string;
  attempts: number;
  lessons: string[];
  /** Of the last attempt. */
  repairs: ReadonlyMap<RepairCode, number>;
  /** Names of the parameters that the last attempt left out. */
  droppedParameters?: readonly string[];
  usage?: ResponseUsage | undefined;
  /** Headers of the upstream that were not forwarded. */
  droppedHeaders?: readonly string[];
  failure?: string;
}

/** A request as one upstream gets it. */
export interface PreparedRequest {
  /** Sends it once. `onContent` is to be called when content of a good reply goes to the client, perhaps more than once. */
  send(request: UpstreamRequest, onContent: (() => void) | undefined): Promise<Outcome>;
  /** What a refusal teaches; undefined: no other way of asking helps. */
  lessonFrom?(refusal: Extract<Outcome, { is: "refused" }>): Lesson | undefined;
}

/** Makes the request for a model of an upstream, with what this request has been taught. Throws if it cannot be made. */
export type Prepare = (
  upstream: Upstream,
  model: string,
  lessons: readonly Lesson[],
) => PreparedRequest;

export type RunOutcome = "answered" | "left";

/** A request may teach this many things before it is given up: no server that we know refuses more. */
const mostLessons = 8;

/** Retries that take longer are left to a caller who shows them. */
const mostUnseenMs = 1_000;

/** Sends requests to upstreams: tries again, learns and falls back, all before the first byte goes to the client. */
export class UpstreamClient {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly lessons = new Lessons();
  readonly redactor: Redactor;
  /** The listed model of an upstream that a mistyped name most likely means. */
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

  /** Throws a Problem, or what `prepare` threw, if no target has answered. */
  async request(exchange: Exchange, prepare: Prepare): Promise<RunOutcome> {
    let problem: Problem | undefined;
    let unmade: Problem | WireError | undefined;
    for (const target of exchange.targets) {
      const tried = await this.#tryTarget(exchange, target, prepare);
      if (typeof tried === "string") return tried;
      // One wire may not be able to say what another can.
      if ("unmade" in tried) unmade ??= tried.unmade;
      else problem = tried.problem;
      if (exchange.isSentOnce === true && exchange.record.attempts > 0) break;
      // What is wrong with the request itself is wrong everywhere.
      if ("problem" in tried && !mayFallBack(tried.problem)) break;
    }
    throw problem ?? unmade ?? new Problem("model_not_found", "no upstream serves this model");
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
  ): Promise<RunOutcome | { problem: Problem } | { unmade: Problem | WireError }> {
    const { record, signal, source } = exchange;
    const { upstream: name, model } = target;
    const upstream = this.upstreams.get(name);
    if (upstream === undefined)
      return { problem: new Problem("model_not_found", `there is no upstream "${name}"`) };
    record.upstream = name;
    if (model !== "") record.upstreamModel = model;
    const lessons = new RequestLessons();
    let prepared: PreparedRequest;
    // A request that cannot even be made says nothing of the upstream.
    try {
      prepared = prepare(upstream, model, lessons.all);
    } catch (error) {
      if (error instanceof WireError || error instanceof Problem) return { unmade: error };
      throw error;
    }
    const unusable = upstream.unusable(model, source);
    if (unusable !== undefined) return { problem: unusable };
    const request = upstream.begin(model, source);
    let outcome: Outcome | undefined;
    let problem: Problem | undefined;
    // Other requests change only once the upstream has answered one that was changed so.
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
          outcome.is === "refused" && lessons.all.length < mostLessons
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

  /** A lesson is shown to people, and its words are the upstream's. */
  #redacted(lesson: Lesson): Lesson {
    return { ...lesson, said: errorText(lesson.said, this.redactor) };
  }

  /** Undefined if the failure says nothing of the upstream: a context that is too long, a filter. */
  #problemOfUpstream(outcome: FailedOutcome, upstream: Upstream): Problem | undefined {
    const status = statusOf(outcome);
    return status > 0 && status < 500 ? undefined : this.problemOf(outcome, upstream);
  }

  /** A model that the upstream does not have may be one of those that it lists, mistyped. */
  #withSuggestion(problem: Problem, { upstream, model }: ModelTarget): Problem {
    const near = problem.status === 404 ? this.suggestModel?.(upstream, model) : undefined;
    if (near === undefined) return problem;
    const { code, message, ...more } = problem;
    return new Problem(code, `did you mean ${upstream}/${near}? ${message}`, more);
  }
}

/** How long to wait before the request is sent again; undefined: it is not. */
function waitAfter(
  { isRetriedByCaller = false, isSentOnce = false }: Exchange,
  request: UpstreamRequest,
  outcome: FailedOutcome,
  tried: number,
  began: number,
): number | undefined {
  if (isSentOnce || (isRetriedByCaller && performance.now() - began > mostUnseenMs))
    return undefined;
  const wait = request.waitAfter(outcome, tried);
  return isRetriedByCaller && wait !== undefined && wait > mostUnseenMs ? undefined : wait;
}
